-- Reports tasks whose process died under them while the worker lives: the losses count at once, not when the lease ends.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the eight arguments that follow
-- ARGV[2…] queue, id, fence, lost limit (losses a task survives), problem (stored form of the worker-lost answer), keep (ms),
--          tombstone (ms), dead (ms that dead tasks stay)
-- ARGV[#ARGV] cap: most dead tasks kept of a queue
--
-- Returns a verdict of each: "waiting", "released" (its handler had not begun: no loss is counted), "dead", "canceled", "stale". The
-- same attempt reported again is answered the same.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include line
--#include follow
--#include settle
--#include unbegun
--#include lose
--#include answers

local cap = tonumber(ARGV[#ARGV])
local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, most_lost, problem, keep, tombstone, dead = unpack(ARGV, 2 + n * 8, 9 + n * 8)
  local t = redis.call('HMGET', K.task(id), F.state, F.fence, F.cancel, F.place, F.lost, F.webhook, F.undo, F.answers, F.unbegun)
  local known = answered(t[8], A.lose .. fence)
  if known then
    verdicts[n + 1] = known
  elseif t[1] ~= S.running or t[2] ~= fence then
    verdicts[n + 1] = 'stale'
  else
    local fate = lose(queue, id, { t[3], t[4], t[5], t[6], t[7], t[2], t[9] }, tonumber(most_lost), problem, tonumber(keep),
      tonumber(tombstone), tonumber(dead), cap)
    if fate == 'waiting' or fate == 'released' then redis.call('PUBLISH', K.work(queue), '') end
    note_answer(K.task(id), t[8], A.lose .. fence, fate)
    verdicts[n + 1] = fate
  end
end
return verdicts
