-- Finishes tasks with their results.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the six arguments that follow
-- ARGV[2…] queue, id, fence, result (its stored form), keep (ms), tombstone (ms)
--
-- Returns a verdict of each: "done", "canceled" (cancel was requested: the result is dropped), "already" (finished before
-- under this fence), "stale" (no longer the worker's), "unknown".
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include line
--#include follow
--#include settle
--#include service

local verdicts, ended, times = {}, {}, {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, result, keep, tombstone = unpack(ARGV, 2 + n * 6, 7 + n * 6)
  keep, tombstone = tonumber(keep), tonumber(tombstone)
  local t = redis.call('HMGET', base .. 't:' .. id, 's', 'f', 'k', 'b', 'W', 'U', 'h', 'S')
  if not t[1] then
    verdicts[n + 1] = 'unknown'
  elseif t[2] ~= fence then
    verdicts[n + 1] = 'stale'
  elseif t[1] ~= 'r' then
    -- The same fence, and running no more: finished before, or handed back by a release or a reclaim.
    verdicts[n + 1] = (t[1] == 's' or t[1] == 'f' or t[1] == 'c') and 'already' or 'stale'
  else
    ended[queue] = ended[queue] or {}
    table.insert(ended[queue], id)
    if t[3] then
      settle(id, 'c', nil, keep, tombstone, t[5], t[6])
      verdicts[n + 1] = 'canceled'
    else
      settle(id, 's', result, keep, tombstone, t[5], t[6], not t[7] and not t[8])
      verdicts[n + 1] = 'done'
      times[queue] = times[queue] or {}
      table.insert(times[queue], now - tonumber(t[4]))
    end
  end
end

for queue, ids in pairs(ended) do
  redis.call('ZREM', base .. 'l:' .. queue, unpack(ids))
  count_rate(queue, 'z', #ids)
end
for queue, of_queue in pairs(times) do note_service(queue, of_queue) end
return verdicts
