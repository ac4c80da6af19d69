-- Prolongs leases.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of leases, each with the five arguments that follow
-- ARGV[2…] queue, id, fence, lease (ms), as taken ("1": as long as it was taken for over HTTP, where it was)
--
-- Returns a verdict of each: "ok", "cancel" or "deadline" (prolonged, but the task is to be given up, by a
-- caller or by its deadline) with a space and the lease, ms; "stale" (no
-- longer the worker's).
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, lease, as_taken = unpack(ARGV, 2 + n * 5, 6 + n * 5)
  local state, run, cancel, taken_for = unpack(redis.call('HMGET', K.task(id), F.state, F.run, F.cancel, F.lease))
  local held_under = run_of(run)
  if state == S.running and held_under == fence then
    if as_taken == '1' then lease = taken_for or lease end
    redis.call('ZADD', K.leases(queue), whole(now + tonumber(lease)), id)
    verdicts[n + 1] = (cancel == C.cancelByDeadline and 'deadline ' or cancel and 'cancel ' or 'ok ') .. lease
  else
    verdicts[n + 1] = 'stale'
  end
end
return verdicts
