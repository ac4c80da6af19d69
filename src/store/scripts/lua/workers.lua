-- The live workers of queues.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  most: workers of each queue, and of all
-- ARGV[2…] queue: a name each
--
-- Returns {now (ms), {{queue, worker, slots}, …}, {{worker, about, left}, …}}: what a worker has reported about itself, "" if nothing, and
-- for how many ms that holds.
-- flags: no-writes
local base = KEYS[1]
--#include clock

local most = tonumber(ARGV[1])
local slots, abouts, seen = {}, {}, {}
for n = 2, #ARGV do
  local queue = ARGV[n]
  for _, worker in ipairs(redis.call('ZRANGEBYSCORE', K.workers(queue), '(' .. now_text, '+inf', 'LIMIT', 0, most)) do
    slots[#slots + 1] = { queue, worker, redis.call('HGET', K.slots(queue), worker) or '0' }
    if not seen[worker] and #abouts < most then
      seen[worker] = true
      local key = K.about(worker)
      abouts[#abouts + 1] = { worker, redis.call('GET', key) or '', redis.call('PTTL', key) }
    end
  end
end
return { now_text, slots, abouts }
