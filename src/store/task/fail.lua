-- Ends attempts that did not succeed: schedules another attempt, or ends the task.

local whole = Number.whole

local function fail(call, key, item, cap)
  local queue, id, fence = item.queue, item.id, item.fence
  local state, run, cancel, unbegun, restarts, of_key, group =
    unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.unbegun, F.restarts, F.key, F.group))
  if not state then return 'unknown' end
  local held_under, late, attempts, place, worker = Run.parts(run)
  if held_under ~= fence then return 'stale' end
  if state ~= S.running then return (state == S.succeeded or state == S.failed or state == S.canceled) and 'already' or 'stale' end

  local verdict
  local kind, text, tombstone = item.kind, item.error, item.tombstoneMs
  Total.free(call, queue, id)
  if cancel then
    Settle.finish(call, id, S.canceled, Result.retention(call, item.keepMs, tombstone))
    Rate.count(call, queue, R.returned, 1)
    verdict = 'canceled'
  elseif kind == 'later' or (kind == 'retry' and tonumber(attempts) < item.attempts) then
    Attempt.note_past(call, id, run, kind == 'later' and 'later' or 'retrying', kind == 'retry' and text or nil)
    redis.call('HDEL', key, F.progress, F.unbegun, F.apart, F.holds)
    redis.call('HSET', key, F.state, S.retrying, F.restarts, (restarts or 0) + 1, F.extra, '1')
    if kind == 'later' then
      if unbegun == fence then Lease.delete_start(call, queue, run) end
      redis.call('HSET', key, F.run, Run.text(fence, late, whole(attempts - 1), place, worker))
    else
      Attempt.note_error(call, id, text)
    end
    local due = call.now + item.delayMs
    redis.call('ZADD', K.scheduled(call, queue), whole(due), id)
    if of_key and item.ordered and Keyed.limit(call, queue) == 1 then
      redis.call('HSET', key, F.holds, '1')
    elseif of_key then
      Keyed.put(call, queue, id, of_key, Keyed.due_later(due))
    end
    if group then Group.note(call, group, id) end
    Notices.change(call, id, S.retrying)
    Rate.count(call, queue, R.returned, 1)
    verdict = 'retrying'
  else
    Attempt.note_error(call, id, text)
    redis.call('HSET', key, F.errorCode, item.code)
    if kind == 'give-up' then
      Settle.finish(call, id, S.failed, Result.retention(call, item.keepMs, tombstone), item.result)
      verdict = 'failed'
    else
      Settle.bury(call, queue, id, item.result, Result.retention(call, item.deadMs, tombstone), cap)
      verdict = 'dead'
    end
    Rate.count(call, queue, R.finished, 1)
    Rate.count(call, queue, R.failed, 1)
  end
  return verdict, true
end

-- Its kinds: "retry": an attempt is used up; "later": it is not; "give-up": failed for good, an answer and not a fault. Returns a verdict of
-- each: "retrying", "failed", "dead", "canceled" (cancel was requested), "already" (it ended otherwise under this fence), "stale", "unknown".
-- A repetition for the same attempt gets the same answer.
register('fail', { 'allow-oom' }, function(call, asked)
  local verdicts = Call.each_once(call, A.fail, asked.items, fail, asked.deadCap or C.deadCap)
  Settle.close(call)
  return verdicts
end)
