-- Ids that are kept for future tasks. They count towards the limit of waiting tasks of their queue.

local whole = Number.whole
-- Maximum number of expired ids that are deleted in one call.
local MAX_DELETED = 100
local ALLOCATION, ANSWER = Layout.allocate.args, Layout.allocate.answer

-- Keeps an id. Returns the verdict "kept", also if it was already kept with the same value; "taken" if it is kept with another value or a
-- task has it; or "full" with the counts.
register('allocate', {}, function(keys, args)
  local call, id, value, queue = Call.new(keys), args[ALLOCATION.id], args[ALLOCATION.value], args[ALLOCATION.queue]
  local ttl = tonumber(args[ALLOCATION.ttlMs])
  if redis.call('EXISTS', K.task(call, id)) == 1 then return { [ANSWER.verdict] = 'taken' } end
  local known = redis.call('GET', K.allocation(call, id))
  if known then return { [ANSWER.verdict] = known == value and 'kept' or 'taken' } end

  local kept = K.kept(call, queue)
  local waiting, scheduled = redis.call('ZCARD', K.waiting(call, queue)), redis.call('ZCARD', K.scheduled(call, queue))
  local open = redis.call('ZCOUNT', kept, '(' .. call.now_text, '+inf')
  if waiting + scheduled + open >= tonumber(args[ALLOCATION.limit]) then
    return { [ANSWER.verdict] = 'full', [ANSWER.waiting] = waiting, [ANSWER.scheduled] = scheduled }
  end

  local over = redis.call('ZRANGE', kept, '-inf', call.now_text, 'BYSCORE', 'LIMIT', 0, MAX_DELETED)
  if #over > 0 then redis.call('ZREM', kept, unpack(over)) end
  local until_ms = whole(call.now + ttl)
  redis.call('SET', K.allocation(call, id), value, 'PX', ttl)
  redis.call('ZADD', kept, until_ms, id)
  redis.call('PEXPIREAT', kept, until_ms)
  -- Submissions look for kept places only until this time.
  redis.call('HSET', K.queue(call, queue), Q.keptUntil, until_ms)
  return { [ANSWER.verdict] = 'kept' }
end)

-- Looks up the value stored with an id. Returns the value, or "" if the id is not allocated or has expired.
register('allocation', { 'no-writes' }, function(keys, args)
  return redis.call('GET', K.allocation(Call.untimed(keys), args[Layout.allocation.args.id])) or ''
end)

-- Releases an id: its task was submitted, or never will be. Returns nothing.
register('deallocate', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.untimed(keys), Layout.deallocate.args
  redis.call('UNLINK', K.allocation(call, args[ARGS.id]))
  redis.call('ZREM', K.kept(call, args[ARGS.queue]), args[ARGS.id])
end)
