-- How many tasks of a queue may start now, but for its rate.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
--
-- Returns how many: all that wait, in a keyed queue those of them that wait for no other; none while the queue is paused.
-- flags: no-writes
local base = KEYS[1]

local queue = ARGV[1]
local paused, keyed = unpack(redis.call('HMGET', K.queue(queue), Q.paused, Q.keyed))
if paused == '1' then return 0 end
return redis.call('ZCARD', keyed and K.startable(queue) or K.waiting(queue))
