-- Ends attempts that did not succeed: schedules another attempt, or ends the task.

local whole = Number.whole
local FAILURE = Layout.fail.item

local function fail(call, args, at, cap)
  local queue, id, fence = args[at + FAILURE.queue], args[at + FAILURE.id], args[at + FAILURE.fence]
  local key = K.task(call, id)
  local state, run, cancel, answers, unbegun, restarts, of_key, group =
    unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.answers, F.unbegun, F.restarts, F.key, F.group))
  if not state then return 'unknown' end
  local known = Answers.find(answers, A.fail .. fence)
  if known then return known end
  local held_under, late, attempts, place, worker = Run.parts(run)
  if held_under ~= fence then return 'stale' end
  if state ~= S.running then return (state == S.succeeded or state == S.failed or state == S.canceled) and 'already' or 'stale' end

  local verdict
  local kind, text, tombstone = args[at + FAILURE.kind], args[at + FAILURE.error], args[at + FAILURE.tombstoneMs]
  redis.call('ZREM', K.leases(call, queue), id)
  if cancel then
    Settle.finish(call, id, S.canceled, Result.stay(call, args[at + FAILURE.keepMs], tombstone))
    Rate.count(call, queue, R.returned, 1)
    verdict = 'canceled'
  elseif kind == 'later' or (kind == 'retry' and tonumber(attempts) < tonumber(args[at + FAILURE.attempts])) then
    Past.note(call, id, run, kind == 'later' and 'later' or 'retrying', kind == 'retry' and text or nil)
    redis.call('HDEL', key, F.progress, F.unbegun, F.apart, F.holds)
    redis.call('HSET', key, F.state, S.retrying, F.restarts, (restarts or 0) + 1, F.extra, '1')
    if kind == 'later' then
      if unbegun == fence then Lease.delete_start(call, queue, run) end
      redis.call('HSET', key, F.run, Run.text(fence, late, whole(attempts - 1), place, worker))
    else
      Past.note_error(call, id, text)
    end
    local due = call.now + tonumber(args[at + FAILURE.delayMs])
    redis.call('ZADD', K.scheduled(call, queue), whole(due), id)
    if of_key and args[at + FAILURE.ordered] == '1' and Keyed.limit(call, queue) == 1 then
      redis.call('HSET', key, F.holds, '1')
    elseif of_key then
      Keyed.put(call, queue, id, of_key, Keyed.due_later(due))
    end
    if group then Group.note(call, group, id) end
    Notices.change(call, id, S.retrying)
    Rate.count(call, queue, R.returned, 1)
    verdict = 'retrying'
  else
    Past.note_error(call, id, text)
    redis.call('HSET', key, F.errorCode, args[at + FAILURE.code])
    if kind == 'give-up' then
      Settle.finish(call, id, S.failed, Result.stay(call, args[at + FAILURE.keepMs], tombstone), args[at + FAILURE.result])
      verdict = 'failed'
    else
      Settle.bury(call, queue, id, args[at + FAILURE.result], Result.stay(call, args[at + FAILURE.deadMs], tombstone), cap)
      verdict = 'dead'
    end
    Rate.count(call, queue, R.finished, 1)
    Rate.count(call, queue, R.failed, 1)
  end
  Answers.note(key, answers, A.fail .. fence, verdict)
  return verdict
end

-- Its kinds: "retry": an attempt is used up; "later": it is not; "give-up": failed for good, an answer and not a fault. Returns a verdict of
-- each: "retrying", "failed", "dead", "canceled" (cancel was requested), "already" (it ended otherwise under this fence), "stale", "unknown".
-- A repetition for the same attempt gets the same answer.
register('fail', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local verdicts = Call.each(call, args, Layout.fail, fail, tonumber(args[Layout.fail.args.deadCap]))
  Settle.close(call)
  return verdicts
end)
