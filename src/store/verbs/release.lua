-- Hands tasks back: each waits again at its old place, and the attempt does not count.
--
-- args[1]  count: number of tasks, each with the five arguments that follow
-- args[2…] queue, id, fence, keep (ms), tombstone (ms)
--
-- Returns a verdict of each: "released", "canceled" (cancel was requested), "stale". The same attempt handed back again is answered the same.

local function release(call, queue, id, fence, keep, tombstone)
  local key = K.task(call, id)
  local state, run, answers = unpack(redis.call('HMGET', key, F.state, F.run, F.answers))
  local known = Answers.find(answers, A.release .. fence)
  if known then return known end
  local held_under = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return 'stale' end
  local verdict = Lease.release(call, queue, id, Result.stay(call, keep, tombstone))
  if verdict == 'released' then redis.call('HINCRBY', key, F.restarts, 1) end
  Answers.note(key, answers, A.release .. fence, verdict)
  return verdict
end

register('release', { 'allow-oom' }, function(keys, args)
  local call, verdicts = Call.new(keys), {}
  for n = 1, tonumber(args[1]) do verdicts[n] = release(call, unpack(args, n * 5 - 3, n * 5 + 1)) end
  Notices.send(call)
  Keyed.tell_freed(call)
  return verdicts
end)
