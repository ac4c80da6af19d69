-- The figures of queues.
--
-- args[1…] queue: a name each
--
-- Returns of each {snapshot (see snapshot.lua), dead, oldest wait (ms, "" for none), accepted in the last minute, finished in it, rest (see
-- breaker.lua, "" for none), newcomer (how many of a fair line would stand before a newcomer whose key does not wait; "" of any other),
-- failed in the last minute, late (ms that the first scheduled or retrying task has been due, "" for none)}.

local whole = Number.whole

local function last_minute(call, key, kind)
  local bucket, total = Rate.bucket(call), 0
  -- How much of the oldest bucket lies within the minute.
  local share = 1 - call.now % C.bucketMs / C.bucketMs
  -- Later buckets are of before the clock was set back.
  for _, value in ipairs(redis.call('HMGET', key, unpack(Rate.fields(kind)))) do
    total = total + Rate.between(value, bucket - 5, bucket) + share * Rate.between(value, bucket - 6, bucket - 6)
  end
  return math.floor(total + 0.5)
end

local function figures(call, queue)
  local key = K.queue(call, queue)
  local first = redis.call('ZRANGE', K.waiting(call, queue), 0, 0, 'WITHSCORES')
  local due = tonumber(redis.call('ZRANGE', K.scheduled(call, queue), 0, 0, 'WITHSCORES')[2])
  local created = tonumber(first[1] and redis.call('HGET', K.task(call, first[1]), F.created) or nil)
  return {
    Snapshot.of(call, queue),
    redis.call('ZCARD', K.dead(call, queue)),
    created and whole(math.max(0, call.now - created)) or '',
    last_minute(call, key, R.accepted),
    last_minute(call, key, R.finished),
    redis.call('HGET', key, Q.rest) or '',
    first[2] and Fair.is_fair(first[2]) and Fair.before_newcomer(call, queue, C.defaultPriority) or '',
    last_minute(call, key, R.failed),
    due and due < call.now and whole(call.now - due) or '',
  }
end

register('queue', { 'no-writes' }, function(keys, args)
  local call, answers = Call.new(keys), {}
  for n, queue in ipairs(args) do answers[n] = figures(call, queue) end
  return answers
end)
