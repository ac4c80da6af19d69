-- Keeps an id for a task that is to come, which counts towards the most that may wait in its queue.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
-- ARGV[2]  value: what to remember with it
-- ARGV[3]  ttl (ms)
-- ARGV[4]  queue
-- ARGV[5]  limit: most tasks waiting and scheduled and ids handed out, together
--
-- Returns {"kept"}, also when it was with the same value, {"taken"} when it is with another or a task has it, or {"full", waiting,
-- scheduled}.
local base = KEYS[1]
--#include clock

local FORGET = 100

local id, value, ttl, queue, limit = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
if redis.call('EXISTS', K.task(id)) == 1 then return { 'taken' } end
local known = redis.call('GET', K.allocation(id))
if known then return { known == value and 'kept' or 'taken' } end

local handed = K.allocated(queue)
local waiting, scheduled = redis.call('ZCARD', K.waiting(queue)), redis.call('ZCARD', K.scheduled(queue))
local open = redis.call('ZCOUNT', handed, '(' .. now_text, '+inf')
if waiting + scheduled + open >= limit then return { 'full', waiting, scheduled } end

local over = redis.call('ZRANGE', handed, '-inf', now_text, 'BYSCORE', 'LIMIT', 0, FORGET)
if #over > 0 then redis.call('ZREM', handed, unpack(over)) end
local until_ms = whole(now + ttl)
redis.call('SET', K.allocation(id), value, 'PX', ttl)
redis.call('ZADD', handed, until_ms, id)
redis.call('PEXPIREAT', handed, until_ms)
-- Submissions look at the ids only where this says that there may be some.
redis.call('HSET', K.queue(queue), Q.handedUntil, until_ms)
return { 'kept' }
