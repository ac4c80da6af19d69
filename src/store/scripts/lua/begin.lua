-- Notes that handlers begin: of tasks that have lost a worker before, where the worker said at the reservation that it reports this.
-- A loss before that is none, see lib/lose.lua.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the four arguments that follow
-- ARGV[2…] queue, id, fence, lease: ms from now on
--
-- Returns a verdict of each: "ok", "cancel" or "deadline" (it is not to begin: the task is to be given up), "stale" (no longer the worker's).
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, lease = unpack(ARGV, 2 + n * 4, 5 + n * 4)
  local key = K.task(id)
  local state, run, cancel, unbegun = unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.unbegun))
  local held_under, _, attempts, place, of_worker = run_of(run)
  if state ~= S.running or held_under ~= fence then
    verdicts[n + 1] = 'stale'
  elseif cancel then
    verdicts[n + 1] = cancel == C.cancelByDeadline and 'deadline' or 'cancel'
  else
    if unbegun then
      redis.call('HDEL', key, F.unbegun, F.unbegunReleases)
      redis.call('HSET', key, F.run, run_text(fence, whole(now - time_of_fence(fence)), attempts, place, of_worker))
    end
    redis.call('ZADD', K.leases(queue), whole(now + tonumber(lease)), id)
    verdicts[n + 1] = 'ok'
  end
end
return verdicts
