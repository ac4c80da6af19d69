-- Makes a state terminal. The first caller wins: every verb checks the state before it calls this.
local Settle = {}

-- The list of the latest outcomes is cut when it has this many more.
local MORE_FINISHED = 100
-- Maximum number of dead tasks that are deleted at a time, if there are too many.
local MAX_LEAVING = 100

-- Notes the latest outcomes of a queue, the newest first: a list of "ended id", ended in ms. Its readers look up what has happened to the
-- task since.
function Settle.note_finished(call, queue, entries)
  local key = K.finished(call, queue)
  if redis.call('LPUSH', key, unpack(entries)) > C.maxFinished + MORE_FINISHED then
    redis.call('LTRIM', key, 0, C.maxFinished - 1)
  end
end

-- The output of a task is kept as long as its result; that of a canceled one cannot be collected.
local function keep_output(call, id, state, retention)
  local key = K.output(call, id)
  if state == S.canceled then redis.call('UNLINK', key) else redis.call('PEXPIRE', key, retention.keep) end
end

-- Deletes the steps of a task that has ended. The steps of an undo are kept as long as its result: they show what the other task had done.
function Settle.leave_steps(call, queue, id, retention)
  local key = K.steps(call, id)
  if queue == Call.own_queue(call, C.undoQueue) then redis.call('PEXPIRE', key, retention.keep) else redis.call('UNLINK', key) end
end

-- Ends a task that was canceled or has failed.
--   retention  see Result.retention
--   result  the stored form of its answer, or nil for none
function Settle.finish(call, id, state, retention, result)
  local key = K.task(call, id)
  local webhook, undo, run, output, deadline, presence, cancel, queue, of_key, group, attempts = unpack(redis.call(
    'HMGET', key, F.webhook, F.undo, F.run, F.output, F.deadline, F.presenceMs, F.cancel, F.queue, F.key, F.group, F.attempts
  ))
  Result.mark_ended(call, id, key, state, retention, result)
  if of_key then Keyed.leave(call, queue, id, of_key) end
  local code = state == S.canceled and Deadlines.code(cancel)
  Deadlines.leave(call, queue, id, deadline, presence)
  Settle.note_finished(call, queue, { call.now_text .. ' ' .. id })
  if code then redis.call('HSET', key, F.errorCode, code) end
  redis.call('HDEL', key, F.place, F.progress, F.cancel)
  -- A run says that a worker has had the task, so its work is undone. A task that never began has nothing to undo.
  if undo and run then Follow.undo_work(call, id) end
  Input.keep(call, id, key, retention)
  Settle.leave_steps(call, queue, id, retention)
  if attempts then Attempt.leave(call, id, retention) end
  if output then keep_output(call, id, state, retention) end
  if webhook then Follow.tell_webhook(call, id, state, webhook) end
  if group then Group.note(call, group, id) end
  Notices.ended(call, id, state, not code and call.now_text or nil, retention.expires, result)
end

-- Ends a task as dead: failed, with its input kept so that it can be run again. Beyond cap, the oldest are deleted.
function Settle.bury(call, queue, id, result, retention, cap)
  local key, dead = K.task(call, id), K.dead(call, queue)
  local webhook, undo, output, deadline, presence, of_key, group =
    unpack(redis.call('HMGET', key, F.webhook, F.undo, F.output, F.deadline, F.presenceMs, F.key, F.group))
  Result.mark_ended(call, id, key, S.failed, retention, result)
  if of_key then Keyed.free(call, queue, id, of_key) end
  Deadlines.leave(call, queue, id, deadline, presence)
  Settle.note_finished(call, queue, { call.now_text .. ' ' .. id })
  redis.call('HDEL', key, F.place, F.progress, F.cancel)
  redis.call('PEXPIRE', K.input(call, id), retention.keep)
  redis.call('PEXPIRE', K.steps(call, id), retention.keep)
  Attempt.leave(call, id, retention)
  if output then keep_output(call, id, S.failed, retention) end
  -- Until the undo has begun, a retry of the task takes it back: see actions.lua.
  if undo then Follow.undo_work(call, id) end
  if webhook then Follow.tell_webhook(call, id, S.failed, webhook) end
  if group then Group.note(call, group, id) end
  redis.call('ZADD', dead, call.now_text, id)
  Rate.count(call, queue, Q.dead, 1)
  local over = redis.call('ZCARD', dead) - cap
  if over > 0 then
    for _, old in ipairs(redis.call('ZRANGE', dead, 0, math.min(over, MAX_LEAVING) - 1)) do
      redis.call('ZREM', dead, old)
      Input.drop(call, old, K.task(call, old))
      redis.call('HDEL', K.attempts(call, old), T.logs)
      redis.call('UNLINK', K.steps(call, old))
    end
  end
  Notices.ended(call, id, S.failed, call.now_text, retention.expires, result)
end

-- Cancels a task that has not ended: at once, or, while its handler runs, by a flag of which its worker is notified. The first reason stays.
--   by  why: C.cancelByCaller, C.cancelByDeadline or C.cancelByAbsence
-- Returns "canceled" or "requested".
function Settle.cancel(call, id, state, queue, by, retention)
  local key = K.task(call, id)
  redis.call('HSETNX', key, F.cancel, by)
  local is_turn = state == S.running and redis.call('HEXISTS', key, F.turn) == 1
  if state == S.running and not is_turn then
    local first, group = unpack(redis.call('HMGET', key, F.cancel, F.group))
    redis.call('HSET', key, F.extra, '1')
    if group then Group.note(call, group, id) end
    Notices.work(call, queue, Deadlines.reason(first, 'cancel') .. ' ' .. id)
    Notices.change(call, id, N.cancelRequested)
    return 'requested'
  end
  if is_turn then
    Total.free(call, queue, id)
    Rate.count(call, queue, R.returned, 1)
  else
    redis.call('ZREM', state == S.waiting and K.waiting(call, queue) or K.scheduled(call, queue), id)
  end
  if state == S.waiting then
    Fair.leave(call, queue, id)
    -- Also one without a key, which has joined before the line was keyed.
    Keyed.decide(call, queue, id)
  end
  Settle.finish(call, id, S.canceled, retention)
  return 'canceled'
end

-- Cancels some members of a group that is being canceled, and ends the group if none is left. Returns how many it has looked at: if fewer
-- than `max`, all are.
function Settle.cancel_members(call, group, max)
  local key = K.group(call, group)
  local keep, tombstone, by = unpack(redis.call('HMGET', key, G.keepMs, G.tombstoneMs, G.canceling))
  local members = by and Group.to_cancel(call, group, max) or {}
  for _, id in ipairs(members) do
    if Group.agrees(call, true, group, id) then
      local state, queue = unpack(redis.call('HMGET', K.task(call, id), F.state, F.queue))
      Settle.cancel(call, id, state, queue, by, Result.retention(call, keep, tombstone))
    end
  end
  if #members < max then
    -- A dead member that is run again later is not canceled.
    redis.call('HDEL', key, G.canceling)
    redis.call('ZREM', K.groups(call), group)
    Group.close(call, group)
  end
  return #members
end

-- Deletes what a finished task has left; its record stays as the tombstone.
function Settle.delete(call, id, key)
  Result.drop(call, id, key)
  Input.drop(call, id, key)
  redis.call('UNLINK', K.steps(call, id), K.output(call, id), K.attempts(call, id))
  if redis.call('EXISTS', key) == 0 then return end
  redis.call('HDEL', key, F.label, F.trace, F.webhook, F.key, F.share, F.before)
  redis.call('HSET', key, F.deleted, '1', F.extra, '1')
  Notices.deleted(call, id)
end

-- Finishes a call that may have ended tasks: lets others start in their slots, writes its counts, and sends its notices.
--   but  see Keyed.close
function Settle.close(call, but)
  Total.close(call)
  Rate.write(call)
  Notices.send(call)
  Keyed.close(call, but)
end

return Settle
