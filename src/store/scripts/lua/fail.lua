-- Ends attempts that did not succeed: another one later, or the task's end.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the twelve arguments that follow
-- ARGV[2…] queue, id, fence, kind ("retry": an attempt is used up; "later": it is not; "give-up": failed for good, an answer
--          and not a fault), attempts (the most), delay (ms until the next attempt), error (text for the record), code,
--          result (stored form of the problem, used when this is the end), keep (ms), tombstone (ms), dead (ms that dead tasks stay)
-- ARGV[#ARGV] cap: most dead tasks kept of a queue
--
-- Returns a verdict of each: "retrying", "failed", "dead", "canceled" (cancel was requested), "already" (it ended
-- otherwise under this fence), "stale", "unknown". The same attempt failed again is answered the same.
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
--#include answers

local cap = tonumber(ARGV[#ARGV])
local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, kind, attempts, delay, text, code, result, keep, tombstone, dead =
    unpack(ARGV, 2 + n * 12, 13 + n * 12)
  keep, tombstone, dead = tonumber(keep), tonumber(tombstone), tonumber(dead)
  local key = K.task(id)
  local state, run, cancel, answers, unbegun, restarts, of_key =
    unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.answers, F.unbegun, F.restarts, F.key))
  local held_under, late, begun, place, worker = run_of(run)
  local known = answered(answers, A.fail .. fence)
  if not state then
    verdicts[n + 1] = 'unknown'
  elseif known then
    verdicts[n + 1] = known
  elseif held_under ~= fence then
    verdicts[n + 1] = 'stale'
  elseif state ~= S.running then
    verdicts[n + 1] = (state == S.succeeded or state == S.failed or state == S.canceled) and 'already' or 'stale'
  else
    redis.call('ZREM', K.leases(queue), id)
    local again = kind == 'later' or (kind == 'retry' and tonumber(begun) < tonumber(attempts))
    if cancel then
      settle(id, S.canceled, keep, tombstone)
      count_rate(queue, R.returned, 1)
      verdicts[n + 1] = 'canceled'
    elseif again then
      note_past(key, run, kind == 'later' and 'later' or 'retrying', kind == 'retry' and text or nil)
      redis.call('HDEL', key, F.progress, F.unbegun)
      redis.call('HSET', key, F.state, S.retrying, F.restarts, (restarts or 0) + 1, F.extra, '1')
      if kind == 'later' then
        if unbegun == fence then forget_start(queue, key) end
        redis.call('HSET', key, F.run, run_text(fence, late, whole(begun - 1), place, worker))
      else
        note_error(id, text)
      end
      redis.call('ZADD', K.scheduled(queue), whole(now + tonumber(delay)), id)
      if of_key and key_limit(queue) ~= 1 then free_key(queue, id, of_key) end
      notify(id, S.retrying)
      count_rate(queue, R.returned, 1)
      verdicts[n + 1] = 'retrying'
    else
      note_error(id, text)
      redis.call('HSET', key, F.errorCode, code)
      if kind == 'give-up' then
        settle(id, S.failed, keep, tombstone, result)
        verdicts[n + 1] = 'failed'
      else
        bury(queue, id, result, dead, tombstone, cap)
        verdicts[n + 1] = 'dead'
      end
      count_rate(queue, R.finished, 1)
      count_rate(queue, R.failed, 1)
    end
    note_answer(key, answers, A.fail .. fence, verdicts[n + 1])
  end
end
send_notices()
tell_freed()
return verdicts
