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
--#include run
--#include past
--#include freed
--#include keyed
--#include rate
--#include input
--#include follow
--#include large
--#include result
--#include notify
--#include finished
--#include settle
--#include unbegun
--#include lose
--#include answers

local cap = tonumber(ARGV[#ARGV])
local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, most_lost, problem, keep, tombstone, dead = unpack(ARGV, 2 + n * 8, 9 + n * 8)
  local state, run, answers = unpack(redis.call('HMGET', K.task(id), F.state, F.run, F.answers))
  local held_under = run_of(run)
  local known = answered(answers, A.lose .. fence)
  if known then
    verdicts[n + 1] = known
  elseif state ~= S.running or held_under ~= fence then
    verdicts[n + 1] = 'stale'
  else
    local ends = { most_lost = tonumber(most_lost), problem = problem, keep = tonumber(keep), cap = cap }
    ends.tombstone, ends.dead = tonumber(tombstone), tonumber(dead)
    local fate = lose(queue, id, ends)
    if fate == 'waiting' or fate == 'released' then redis.call('PUBLISH', K.work(queue), '') end
    note_answer(K.task(id), answers, A.lose .. fence, fate)
    verdicts[n + 1] = fate
  end
end
send_notices()
tell_freed()
return verdicts
