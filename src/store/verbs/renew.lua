-- Prolongs leases.
--
-- args[1]  count: number of leases, each with the five arguments that follow
-- args[2…] queue, id, fence, lease (ms), as taken ("1": as long as it was taken for over HTTP, where it was)
--
-- Returns a verdict of each: "ok", "cancel" or "deadline" (prolonged, but the task is to be given up, by a
-- caller or by its deadline) with a space and the lease, ms; "stale" (no longer the worker's).

local whole = Number.whole

local function renew(call, queue, id, fence, lease, as_taken)
  local state, run, cancel, taken_for = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run, F.cancel, F.lease))
  local held_under = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return 'stale' end
  if as_taken == '1' then lease = taken_for or lease end
  redis.call('ZADD', K.leases(call, queue), whole(call.now + tonumber(lease)), id)
  return (cancel == C.cancelByDeadline and 'deadline ' or cancel and 'cancel ' or 'ok ') .. lease
end

register('renew', { 'allow-oom' }, function(keys, args)
  local call, verdicts = Call.new(keys), {}
  for n = 1, tonumber(args[1]) do verdicts[n] = renew(call, unpack(args, n * 5 - 3, n * 5 + 1)) end
  return verdicts
end)
