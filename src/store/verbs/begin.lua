-- Notes that handlers begin: of tasks that have lost a worker before, where the worker said at the reservation that it reports this.
-- A loss before that is none, see Lease.lose.
--
-- args[1]  count: number of tasks, each with the four arguments that follow
-- args[2…] queue, id, fence, lease: ms from now on
--
-- Returns a verdict of each: "ok", "cancel" or "deadline" (it is not to begin: the task is to be given up), "stale" (no longer the worker's).

local whole = Number.whole

local function begin(call, queue, id, fence, lease)
  local key = K.task(call, id)
  local state, run, cancel, unbegun = unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.unbegun))
  local held_under, _, attempts, place, of_worker = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return 'stale' end
  if cancel then return cancel == C.cancelByDeadline and 'deadline' or 'cancel' end
  if unbegun then
    local late = whole(call.now - Run.time_of_fence(fence))
    redis.call('HDEL', key, F.unbegun, F.unbegunReleases)
    redis.call('HSET', key, F.run, Run.text(fence, late, attempts, place, of_worker))
  end
  redis.call('ZADD', K.leases(call, queue), whole(call.now + tonumber(lease)), id)
  return 'ok'
end

register('begin', { 'allow-oom' }, function(keys, args)
  local call, verdicts = Call.new(keys), {}
  for n = 1, tonumber(args[1]) do verdicts[n] = begin(call, unpack(args, n * 4 - 2, n * 4 + 1)) end
  return verdicts
end)
