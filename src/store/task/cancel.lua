-- Cancels tasks; deletes the result of a finished one.

local function delete_task(call, queue, id, key, state, undo)
  redis.call('ZREM', K.dead(call, queue), id)
  -- The work of a failed task was undone when it failed.
  if undo and state == S.succeeded then Follow.undo_work(call, id) end
  Settle.delete(call, id, key)
end

local function cancel(call, key, item)
  local id, only, hearer = item.id, item.only, item.heardBy
  local state, queue, deleted, expires, undo, listeners =
    unpack(redis.call('HMGET', key, F.state, F.queue, F.deleted, F.expires, F.undo, F.listeners))
  if not state then return 'unknown' end
  local ending = Allowed.ending(call, state, deleted, expires)
  if (only == 'pending' and ending ~= 'cancel') or (only == 'ended' and ending == 'cancel') then return 'left' end
  if hearer and listeners and string.gsub(listeners, '^%.', '') ~= hearer then return 'left' end
  if not ending then return 'already' end

  if ending == 'cancel' then
    return Settle.cancel(call, id, state, queue, C.cancelByCaller, Result.stay(call, item.keepMs, item.tombstoneMs)), true
  end
  delete_task(call, queue, id, key, state, undo)
  return 'deleted', true
end

local function cancel_all(call, items)
  local verdicts = Call.each_once(call, A.cancel, items, cancel)
  Settle.close(call)
  return verdicts
end

-- Returns a verdict of each: "canceled" (it has left the line), "requested" (it is running: its worker is notified), "deleted", "already"
-- (canceled, expired or deleted by another call), "left" (alone), "unknown".
register('cancel', { 'allow-oom' }, function(call, asked)
  return cancel_all(call, asked.items)
end)

-- The same, and reads the tasks: a handler that settles at once would otherwise end one in between. Returns the verdicts, and beside them
-- the answer of inspection.lua.
register('cancelAndInspect', { 'allow-oom' }, function(call, asked)
  local verdicts, seen, tasks = cancel_all(call, asked.items), Inspection.new(), {}
  for n, item in ipairs(asked.items) do tasks[n] = Inspection.task(call, seen, item.id, false) end
  return verdicts, Inspection.answer(call, seen, tasks)
end)
