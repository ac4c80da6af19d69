-- Ends attempts that did not succeed: another one later, or the task's end.
--
-- args[1]  count: number of tasks, each with the twelve arguments that follow
-- args[2…] queue, id, fence, kind ("retry": an attempt is used up; "later": it is not; "give-up": failed for good, an answer
--          and not a fault), attempts (the most), delay (ms until the next attempt), error (text for the record), code,
--          result (stored form of the problem, used when this is the end), keep (ms), tombstone (ms), dead (ms that dead tasks stay)
-- args[#args] cap: most dead tasks kept of a queue
--
-- Returns a verdict of each: "retrying", "failed", "dead", "canceled" (cancel was requested), "already" (it ended
-- otherwise under this fence), "stale", "unknown". The same attempt failed again is answered the same.

local whole = Number.whole

local function fail(call, cap, queue, id, fence, kind, most_attempts, delay, text, code, result, keep, tombstone, dead)
  local key = K.task(call, id)
  local state, run, cancel, answers, unbegun, restarts, of_key =
    unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.answers, F.unbegun, F.restarts, F.key))
  if not state then return 'unknown' end
  local known = Answers.find(answers, A.fail .. fence)
  if known then return known end
  local held_under, late, attempts, place, worker = Run.parts(run)
  if held_under ~= fence then return 'stale' end
  if state ~= S.running then return (state == S.succeeded or state == S.failed or state == S.canceled) and 'already' or 'stale' end

  local verdict
  redis.call('ZREM', K.leases(call, queue), id)
  if cancel then
    Settle.finish(call, id, S.canceled, Result.stay(call, keep, tombstone))
    Rate.count(call, queue, R.returned, 1)
    verdict = 'canceled'
  elseif kind == 'later' or (kind == 'retry' and tonumber(attempts) < tonumber(most_attempts)) then
    Past.note(call, key, run, kind == 'later' and 'later' or 'retrying', kind == 'retry' and text or nil)
    redis.call('HDEL', key, F.progress, F.unbegun)
    redis.call('HSET', key, F.state, S.retrying, F.restarts, (restarts or 0) + 1, F.extra, '1')
    if kind == 'later' then
      if unbegun == fence then Lease.forget_start(call, queue, key) end
      redis.call('HSET', key, F.run, Run.text(fence, late, whole(attempts - 1), place, worker))
    else
      Past.note_error(key, text)
    end
    redis.call('ZADD', K.scheduled(call, queue), whole(call.now + tonumber(delay)), id)
    if of_key and Keyed.limit(call, queue) ~= 1 then Keyed.free(call, queue, id, of_key) end
    Notices.change(call, id, S.retrying)
    Rate.count(call, queue, R.returned, 1)
    verdict = 'retrying'
  else
    Past.note_error(key, text)
    redis.call('HSET', key, F.errorCode, code)
    if kind == 'give-up' then
      Settle.finish(call, id, S.failed, Result.stay(call, keep, tombstone), result)
      verdict = 'failed'
    else
      Settle.bury(call, queue, id, result, Result.stay(call, dead, tombstone), cap)
      verdict = 'dead'
    end
    Rate.count(call, queue, R.finished, 1)
    Rate.count(call, queue, R.failed, 1)
  end
  Answers.note(key, answers, A.fail .. fence, verdict)
  return verdict
end

register('fail', { 'allow-oom' }, function(keys, args)
  local call, cap, verdicts = Call.new(keys), tonumber(args[#args]), {}
  for n = 1, tonumber(args[1]) do verdicts[n] = fail(call, cap, unpack(args, n * 12 - 10, n * 12 + 1)) end
  Notices.send(call)
  Keyed.tell_freed(call)
  return verdicts
end)
