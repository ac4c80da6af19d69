-- Stops or starts the taking of work from a queue. What runs goes on.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
-- ARGV[2]  paused: "1" or "0"
--
-- Returns nothing.
-- flags: allow-oom
local base = KEYS[1]

local queue, paused = ARGV[1], ARGV[2]
if paused == '1' then
  redis.call('HSET', K.queue(queue), Q.paused, '1')
else
  redis.call('HDEL', K.queue(queue), Q.paused)
  redis.call('PUBLISH', K.work(queue), '')
end
