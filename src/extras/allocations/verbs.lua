-- Ids that are kept for future tasks. They count towards the limit of waiting tasks of their queue.

local whole = Number.whole
-- Maximum number of expired ids that are deleted in one call.
local MAX_DELETED = 100

-- Keeps an id. Returns the verdict "kept", also if it was already kept with the same value; "taken" if it is kept with another value or a
-- task has it; or "full" with the counts.
register('allocate', {}, function(call, asked)
  local id, value, queue, ttl = asked.id, asked.value, asked.queue, asked.ttlMs
  if redis.call('EXISTS', K.task(call, id)) == 1 then return { verdict = 'taken' } end
  local known = redis.call('GET', K.allocation(call, id))
  if known then return { verdict = known == value and 'kept' or 'taken' } end

  local kept = K.kept(call, queue)
  local waiting, scheduled = redis.call('ZCARD', K.waiting(call, queue)), redis.call('ZCARD', K.scheduled(call, queue))
  local open = redis.call('ZCOUNT', kept, '(' .. call.now_text, '+inf')
  if waiting + scheduled + open >= asked.limit then
    return { verdict = 'full', waiting = waiting, scheduled = scheduled }
  end

  local over = redis.call('ZRANGE', kept, '-inf', call.now_text, 'BYSCORE', 'LIMIT', 0, MAX_DELETED)
  if #over > 0 then redis.call('ZREM', kept, unpack(over)) end
  local until_ms = whole(call.now + ttl)
  redis.call('SET', K.allocation(call, id), value, 'PX', ttl)
  redis.call('ZADD', kept, until_ms, id)
  redis.call('PEXPIREAT', kept, until_ms)
  -- Submissions look for kept places only until this time.
  redis.call('HSET', K.queue(call, queue), Q.keptUntil, until_ms)
  return { verdict = 'kept' }
end)

-- Looks up the value stored with an id. Returns the value; nothing if the id is not allocated or has expired.
register('allocation', { 'no-writes' }, function(call, asked)
  return redis.call('GET', K.allocation(call, asked.id)) or nil
end)

-- Releases an id: its task was submitted, or never will be. Returns nothing.
register('deallocate', { 'allow-oom' }, function(call, asked)
  redis.call('UNLINK', K.allocation(call, asked.id))
  redis.call('ZREM', K.kept(call, asked.queue), asked.id)
end)
