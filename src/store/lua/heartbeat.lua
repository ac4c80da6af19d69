-- Says that a worker lives and how many slots it gives each queue; forgets those that have not said so in time.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  worker: the id of the worker process
-- ARGV[2]  ttl: ms until it counts as gone; 0 when it says goodbye
-- ARGV[3]  count: number of queues, each with the two arguments that follow
-- ARGV[4…] queue, slots
--
-- Returns nothing.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include lane

local worker, ttl = ARGV[1], tonumber(ARGV[2])
for n = 0, tonumber(ARGV[3]) - 1 do
  local queue, slots = ARGV[4 + n * 2], ARGV[5 + n * 2]
  local live, reservations = base .. 'k:' .. queue, base .. 'v:' .. queue
  redis.call('HSET', live, worker, whole(now + ttl) .. ' ' .. slots)
  local workers, total, until_when = 0, 0, 0
  local all = redis.call('HGETALL', live)
  for entry = 1, #all, 2 do
    local expiry, of_worker = string.match(all[entry + 1], '^(%d+) (%d+)$')
    expiry = tonumber(expiry)
    if expiry > now then
      workers, total = workers + 1, total + tonumber(of_worker)
      until_when = math.max(until_when, expiry)
    else
      redis.call('HDEL', live, all[entry])
      redis.call('HDEL', reservations, lane_of(all[entry], '0'), lane_of(all[entry], '1'))
    end
  end
  redis.call('HSET', base .. 'q:' .. queue, 'workers', workers, 'slots', total, 'liveUntil', whole(until_when))
end
