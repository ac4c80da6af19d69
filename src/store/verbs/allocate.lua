-- Keeps an id for a task that is to come, which counts towards the most that may wait in its queue.
--
-- args[1]  id
-- args[2]  value: what to remember with it
-- args[3]  ttl (ms)
-- args[4]  queue
-- args[5]  limit: most tasks waiting and scheduled and ids handed out, together
--
-- Returns {"kept"}, also when it was with the same value, {"taken"} when it is with another or a task has it, or {"full", waiting,
-- scheduled}.

local whole = Number.whole
-- Most ids that are forgotten in one call, as their time is over.
local FORGET = 100

register('allocate', {}, function(keys, args)
  local call = Call.new(keys)
  local id, value, ttl, queue, limit = args[1], args[2], tonumber(args[3]), args[4], tonumber(args[5])
  if redis.call('EXISTS', K.task(call, id)) == 1 then return { 'taken' } end
  local known = redis.call('GET', K.allocation(call, id))
  if known then return { known == value and 'kept' or 'taken' } end

  local handed = K.allocated(call, queue)
  local waiting, scheduled = redis.call('ZCARD', K.waiting(call, queue)), redis.call('ZCARD', K.scheduled(call, queue))
  local open = redis.call('ZCOUNT', handed, '(' .. call.now_text, '+inf')
  if waiting + scheduled + open >= limit then return { 'full', waiting, scheduled } end

  local over = redis.call('ZRANGE', handed, '-inf', call.now_text, 'BYSCORE', 'LIMIT', 0, FORGET)
  if #over > 0 then redis.call('ZREM', handed, unpack(over)) end
  local until_ms = whole(call.now + ttl)
  redis.call('SET', K.allocation(call, id), value, 'PX', ttl)
  redis.call('ZADD', handed, until_ms, id)
  redis.call('PEXPIREAT', handed, until_ms)
  -- Submissions look at the ids only where this says that there may be some.
  redis.call('HSET', K.queue(call, queue), Q.handedUntil, until_ms)
  return { 'kept' }
end)
