-- Ids that are kept for tasks to come. They count towards the most that may wait in their queue.

local whole = Number.whole
-- Most ids that are forgotten in one call, as their time is over.
local FORGET = 100
local ALLOCATION, ANSWER = Layout.allocate.args, Layout.allocate.answer

-- Keeps an id. Returns the verdict "kept", also when it was with the same value, "taken" when it is with another or a task has it, or
-- "full" with the counts.
register('allocate', {}, function(keys, args)
  local call, id, value, queue = Call.new(keys), args[ALLOCATION.id], args[ALLOCATION.value], args[ALLOCATION.queue]
  local ttl = tonumber(args[ALLOCATION.ttlMs])
  if redis.call('EXISTS', K.task(call, id)) == 1 then return { [ANSWER.verdict] = 'taken' } end
  local known = redis.call('GET', K.allocation(call, id))
  if known then return { [ANSWER.verdict] = known == value and 'kept' or 'taken' } end

  local handed = K.allocated(call, queue)
  local waiting, scheduled = redis.call('ZCARD', K.waiting(call, queue)), redis.call('ZCARD', K.scheduled(call, queue))
  local open = redis.call('ZCOUNT', handed, '(' .. call.now_text, '+inf')
  if waiting + scheduled + open >= tonumber(args[ALLOCATION.limit]) then
    return { [ANSWER.verdict] = 'full', [ANSWER.waiting] = waiting, [ANSWER.scheduled] = scheduled }
  end

  local over = redis.call('ZRANGE', handed, '-inf', call.now_text, 'BYSCORE', 'LIMIT', 0, FORGET)
  if #over > 0 then redis.call('ZREM', handed, unpack(over)) end
  local until_ms = whole(call.now + ttl)
  redis.call('SET', K.allocation(call, id), value, 'PX', ttl)
  redis.call('ZADD', handed, until_ms, id)
  redis.call('PEXPIREAT', handed, until_ms)
  -- Submissions look at the ids only where this says that there may be some.
  redis.call('HSET', K.queue(call, queue), Q.handedUntil, until_ms)
  return { [ANSWER.verdict] = 'kept' }
end)

-- Looks up what is remembered with an id. Returns the value, or "" when the id is not allocated or its time is over.
register('allocation', { 'no-writes' }, function(keys, args)
  return redis.call('GET', K.allocation(Call.untimed(keys), args[Layout.allocation.args.id])) or ''
end)

-- Gives an id back: its task has come, or never will. Returns nothing.
register('deallocate', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.untimed(keys), Layout.deallocate.args
  redis.call('UNLINK', K.allocation(call, args[ARGS.id]))
  redis.call('ZREM', K.allocated(call, args[ARGS.queue]), args[ARGS.id])
end)
