-- Finishes tasks with their results.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  groups: of tasks with the same queue and times that follow one another
-- ARGV[2…] of each group: queue, keep (ms), tombstone (ms), number of its tasks; then of each of these: id, fence, result (its
--          stored form)
--
-- Returns a verdict of each, in one string with a space between: "done", "canceled" (cancel was requested: the result is dropped),
-- "already" (finished before under this fence), "stale" (no longer the worker's), "unknown".
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include line
--#include follow
--#include settle
--#include service

local verdicts, ended, times = {}, {}, {}

local function complete(queue, id, fence, result, keep, tombstone)
  local t = redis.call('HMGET', base .. 't:' .. id, 's', 'f', 'k', 'b', 'W', 'U', 'h', 'S')
  if not t[1] then return 'unknown' end
  if t[2] ~= fence then return 'stale' end
  -- The same fence, and running no more: finished before, or handed back by a release or a reclaim.
  if t[1] ~= 'r' then return (t[1] == 's' or t[1] == 'f' or t[1] == 'c') and 'already' or 'stale' end
  ended[queue] = ended[queue] or {}
  table.insert(ended[queue], id)
  if t[3] then
    settle(id, 'c', nil, keep, tombstone, t[5], t[6])
    return 'canceled'
  end
  settle(id, 's', result, keep, tombstone, t[5], t[6], not t[7] and not t[8])
  times[queue] = times[queue] or {}
  table.insert(times[queue], now - tonumber(t[4]))
  return 'done'
end

local at = 1
for _ = 1, tonumber(ARGV[1]) do
  local queue, keep, tombstone, count = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  at = at + 4
  for _ = 1, count do
    verdicts[#verdicts + 1] = complete(queue, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], keep, tombstone)
    at = at + 3
  end
end

for queue, ids in pairs(ended) do
  redis.call('ZREM', base .. 'l:' .. queue, unpack(ids))
  count_rate(queue, 'z', #ids)
end
for queue, of_queue in pairs(times) do note_service(queue, of_queue) end
return table.concat(verdicts, ' ')
