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
--#include release

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, keep, tombstone = unpack(ARGV, 2 + n * 5, 6 + n * 5)
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 's', 'f', 'k', 'o', 'W', 'U')
  if t[1] ~= 'r' or t[2] ~= fence then
    verdicts[n + 1] = 'stale'
  else
    verdicts[n + 1] = release(queue, id, { t[3], t[4], t[5], t[6] }, tonumber(keep), tonumber(tombstone))
  end
end
return verdicts
