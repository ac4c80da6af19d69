-- Cancels tasks; of a finished one it destroys the result.
--
-- args[1]  count: number of tasks, each with the five arguments that follow
-- args[2…] id, word (that only this call has), keep (ms), tombstone (ms), only ("pending" to leave a task alone that has
--          ended, "ended" to leave one alone that has not, "" for neither)
--
-- Returns a verdict of each: "canceled" (it has left the line), "requested" (it is running: its worker is told), "destroyed",
-- "already" (canceled, expired or destroyed by another call), "left" (alone), "unknown".

local function destroy(call, queue, id, key, state, undo)
  redis.call('ZREM', K.dead(call, queue), id)
  -- Of a failed task it was undone when it failed.
  if undo and state == S.succeeded then Follow.undo_work(call, id) end
  Settle.destroy(call, id, key)
end

local function cancel(call, id, word, keep, tombstone, only)
  local key = K.task(call, id)
  local state, queue, destroyed, expires, undo, answers =
    unpack(redis.call('HMGET', key, F.state, F.queue, F.destroyed, F.expires, F.undo, F.answers))
  if not state then return 'unknown' end
  local known = Answers.find(answers, A.cancel .. word)
  if known then return known end
  local ending = Allowed.ending(call, state, destroyed, expires)
  if (only == 'pending' and ending ~= 'cancel') or (only == 'ended' and ending == 'cancel') then return 'left' end
  if not ending then return 'already' end

  local verdict = 'destroyed'
  if ending == 'cancel' then
    verdict = Settle.cancel(call, id, state, queue, C.cancelByCaller, Result.stay(call, keep, tombstone))
  else
    destroy(call, queue, id, key, state, undo)
  end
  Answers.note(key, answers, A.cancel .. word, verdict)
  return verdict
end

register('cancel', { 'allow-oom' }, function(keys, args)
  local call, verdicts = Call.new(keys), {}
  for n = 1, tonumber(args[1]) do verdicts[n] = cancel(call, unpack(args, n * 5 - 3, n * 5 + 1)) end
  Notices.send(call)
  Keyed.tell_freed(call)
  return verdicts
end)
