-- Hands tasks back: each waits again at its old place, and the attempt does not count.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the five arguments that follow
-- ARGV[2…] queue, id, fence, keep (ms), tombstone (ms)
--
-- Returns a verdict of each: "released", "canceled" (cancel was requested), "stale".
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include follow
--#include settle

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, keep, tombstone = unpack(ARGV, 2 + n * 5, 6 + n * 5)
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 's', 'f', 'k', 'o', 'W', 'U')
  if t[1] ~= 'r' or t[2] ~= fence then
    verdicts[n + 1] = 'stale'
  else
    redis.call('ZREM', base .. 'l:' .. queue, id)
    if t[3] then
      settle(id, 'c', nil, tonumber(keep), tonumber(tombstone), t[5], t[6])
      verdicts[n + 1] = 'canceled'
    else
      redis.call('HDEL', key, 'w', 'p', 'o', 'b')
      redis.call('HSET', key, 's', 'w')
      redis.call('HINCRBY', key, 'a', -1)
      redis.call('ZADD', base .. 'w:' .. queue, t[4], id)
      redis.call('PUBLISH', base .. 'e:' .. id, 'w')
      redis.call('PUBLISH', base .. 'n:' .. queue, '')
      verdicts[n + 1] = 'released'
    end
  end
end
return verdicts
