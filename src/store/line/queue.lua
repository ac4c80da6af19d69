-- Queues: their figures, and whether work is taken from them.

local function last_minute(call, key, kind)
  local bucket, total = Rate.bucket(call), 0
  -- The share of the oldest bucket that lies within the minute.
  local share = 1 - call.now % C.bucketMs / C.bucketMs
  -- Later buckets are from before the clock was set back.
  for _, value in ipairs(redis.call('HMGET', key, unpack(Rate.fields(kind)))) do
    total = total + Rate.between(value, bucket - 5, bucket) + share * Rate.between(value, bucket - 6, bucket - 6)
  end
  return math.floor(total + 0.5)
end

local function or_null(stored)
  return stored or cjson.null
end

local function figures(call, queue, snapshots)
  local key = K.queue(call, queue)
  local first = redis.call('ZRANGE', K.waiting(call, queue), 0, 0, 'WITHSCORES')
  local due = tonumber(redis.call('ZRANGE', K.scheduled(call, queue), 0, 0, 'WITHSCORES')[2])
  local rest, declared_rate, set_rate, set_concurrency =
    unpack(redis.call('HMGET', key, Q.rest, Q.rate, Q.setRate, Q.setConcurrency))
  local created = tonumber(first[1] and redis.call('HGET', K.task(call, first[1]), F.created) or nil)
  local newcomer = first[2] and Fair.is_fair(first[2]) and Fair.before_newcomer(call, queue, C.defaultPriority)
  snapshots[#snapshots + 1] = Snapshot.of(call, queue)
  return {
    dead = redis.call('ZCARD', K.dead(call, queue)),
    oldestWaitingMs = created and math.max(0, call.now - created) or cjson.null,
    -- How long the first scheduled or retrying task has been due.
    lateMs = due and due < call.now and call.now - due or cjson.null,
    acceptedLastMinute = last_minute(call, key, R.accepted),
    finishedLastMinute = last_minute(call, key, R.finished),
    failedLastMinute = last_minute(call, key, R.failed),
    rest = or_null(rest),
    declaredRate = or_null(declared_rate),
    setRate = or_null(set_rate),
    setConcurrency = or_null(tonumber(set_concurrency or nil)),
    -- How many tasks of a fair line would be before a newcomer whose line key has nothing waiting.
    newcomer = or_null(tonumber(newcomer or nil)),
  }
end

-- Returns the figures of each queue, and beside them its snapshot.
register('queue', { 'no-writes' }, function(call, asked)
  local snapshots = {}
  return Call.each(call, asked.items, figures, snapshots), snapshots
end)

-- Pauses or resumes a queue. Running tasks go on. Returns nothing.
register('pause', { 'allow-oom' }, function(call, asked)
  local queue = asked.queue
  if asked.paused then
    redis.call('HSET', K.queue(call, queue), Q.paused, '1')
  else
    redis.call('HDEL', K.queue(call, queue), Q.paused)
    Warmup.note_need(call, queue)
    Notices.work(call, queue)
  end
end)

-- Sets what holds a queue in place of what its handler declares: '' changes nothing, '-' takes back what was set. Returns nothing.
register('adjust', { 'allow-oom' }, function(call, asked)
  local queue = asked.queue
  for field, value in pairs({ [Q.setRate] = asked.rate, [Q.setConcurrency] = asked.concurrency }) do
    if value == '-' then
      redis.call('HDEL', K.queue(call, queue), field)
    elseif value ~= '' then
      redis.call('HSET', K.queue(call, queue), field, value)
    end
  end
  Notices.work(call, queue, C.adjusted)
end)

-- Tells a worker to take no more work of some queues, or to take it again. Returns nothing.
register('quiet', { 'allow-oom' }, function(call, asked)
  for _, queue in ipairs(asked.queues) do
    redis.call('HSET', K.queue(call, queue), Q.quiet .. asked.worker, asked.quiet and '1' or '0')
    Notices.work(call, queue, C.adjusted)
  end
end)
