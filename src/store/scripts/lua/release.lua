-- Hands tasks back: each waits again at its old place, and the attempt does not count.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the five arguments that follow
-- ARGV[2…] queue, id, fence, keep (ms), tombstone (ms)
--
-- Returns a verdict of each: "released", "canceled" (cancel was requested), "stale". The same attempt handed back again is answered the same.
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
--#include release
--#include answers

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, keep, tombstone = unpack(ARGV, 2 + n * 5, 6 + n * 5)
  local key = K.task(id)
  local state, run, answers = unpack(redis.call('HMGET', key, F.state, F.run, F.answers))
  local held_under = run_of(run)
  local known = answered(answers, A.release .. fence)
  if known then
    verdicts[n + 1] = known
  elseif state ~= S.running or held_under ~= fence then
    verdicts[n + 1] = 'stale'
  else
    verdicts[n + 1] = release(queue, id, tonumber(keep), tonumber(tombstone))
    if verdicts[n + 1] == 'released' then redis.call('HINCRBY', key, F.restarts, 1) end
    note_answer(key, answers, A.release .. fence, verdicts[n + 1])
  end
end
send_notices()
tell_freed()
return verdicts
