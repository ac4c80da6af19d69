-- Cancels tasks; deletes the result of a finished one.

local TASK = Layout.cancel.item

local function delete_task(call, queue, id, key, state, undo)
  redis.call('ZREM', K.dead(call, queue), id)
  -- The work of a failed task was undone when it failed.
  if undo and state == S.succeeded then Follow.undo_work(call, id) end
  Settle.delete(call, id, key)
end

local function cancel(call, args, at)
  local id, word, only = args[at + TASK.id], args[at + TASK.call], args[at + TASK.only]
  local key = K.task(call, id)
  local state, queue, deleted, expires, undo, answers =
    unpack(redis.call('HMGET', key, F.state, F.queue, F.deleted, F.expires, F.undo, F.answers))
  if not state then return 'unknown' end
  local known = Answers.find(answers, A.cancel .. word)
  if known then return known end
  local ending = Allowed.ending(call, state, deleted, expires)
  if (only == 'pending' and ending ~= 'cancel') or (only == 'ended' and ending == 'cancel') then return 'left' end
  if not ending then return 'already' end

  local verdict = 'deleted'
  if ending == 'cancel' then
    local stay = Result.stay(call, args[at + TASK.keepMs], args[at + TASK.tombstoneMs])
    verdict = Settle.cancel(call, id, state, queue, C.cancelByCaller, stay)
  else
    delete_task(call, queue, id, key, state, undo)
  end
  Answers.note(key, answers, A.cancel .. word, verdict)
  return verdict
end

-- Returns a verdict of each: "canceled" (it has left the line), "requested" (it is running: its worker is notified), "deleted", "already"
-- (canceled, expired or deleted by another call), "left" (alone), "unknown".
register('cancel', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local verdicts = Call.each(call, args, Layout.cancel, cancel)
  Settle.close(call)
  return verdicts
end)

-- The same, and reads the tasks: a handler that settles at once would otherwise end one in between. Returns the verdicts, and the answer of
-- inspection.lua.
register('cancelAndInspect', { 'allow-oom' }, function(keys, args)
  local call, LAYOUT = Call.new(keys), Layout.cancelAndInspect
  local verdicts = Call.each(call, args, LAYOUT, cancel)
  Settle.close(call)
  return { [LAYOUT.answered.verdicts] = verdicts, [LAYOUT.answered.found] = Inspection.of(call, args, LAYOUT) }
end)
