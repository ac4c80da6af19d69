-- Makes a state terminal. The first caller wins: every script looks at the state before it comes here. Needs clock, follow,
-- finished, keyed, notify and result, where keep and tombstone are explained.

-- What a task has written stays as long as its result; of a canceled one nothing can be collected.
local function keep_output(id, state, keep)
  if state == S.canceled then redis.call('UNLINK', K.output(id)) else redis.call('PEXPIRE', K.output(id), whole(keep)) end
end

-- Ends a task that was canceled or has failed; result: the stored form of its answer, or nil for none.
local function settle(id, state, keep, tombstone, result)
  local key = K.task(id)
  local t = redis.call('HMGET', key, F.webhook, F.undo, F.run, F.output, F.deadline, F.cancel, F.queue, F.key)
  local webhook, undo, run, output, deadline, cancel, queue, of_key = unpack(t)
  mark_ended(id, key, state, keep, tombstone, result)
  if of_key then leave_key(queue, id, of_key) end
  local is_late = state == S.canceled and cancel == C.cancelByDeadline
  if deadline then redis.call('ZREM', K.deadlines(queue), id) end
  note_finished(queue, { now_text .. ' ' .. id })
  if is_late then redis.call('HSET', key, F.errorCode, C.deadlinePassed) end
  redis.call('HDEL', key, F.place, F.progress, F.cancel)
  -- A run says that a worker has had it: what it did is undone. One that never began has nothing to undo.
  if undo and run then undo_work(id) end
  drop_input(id, key)
  redis.call('UNLINK', K.steps(id))
  if output then keep_output(id, state, keep) end
  if webhook then tell_webhook(id, state, webhook) end
  notify_end(id, state, not is_late and now_text or nil, whole(now + keep), result)
end

-- Ends a task that is dead: a failed one whose input stays, to be run again. The oldest leave when there are more than cap.
local function bury(queue, id, result, keep, tombstone, cap)
  local key, dead, keep_text = K.task(id), K.dead(queue), whole(keep)
  local webhook, undo, output, deadline, of_key =
    unpack(redis.call('HMGET', key, F.webhook, F.undo, F.output, F.deadline, F.key))
  mark_ended(id, key, S.failed, keep, tombstone, result)
  if of_key then free_key(queue, id, of_key) end
  if deadline then redis.call('ZREM', K.deadlines(queue), id) end
  note_finished(queue, { now_text .. ' ' .. id })
  redis.call('HDEL', key, F.place, F.progress, F.cancel)
  redis.call('PEXPIRE', K.input(id), keep_text)
  redis.call('PEXPIRE', K.steps(id), keep_text)
  if output then keep_output(id, S.failed, keep) end
  -- As long as the undoing has not begun, a retry of the task takes it back: see retry.lua.
  if undo then redis.call('HSET', key, F.undoing, undo_work(id)) end
  if webhook then tell_webhook(id, S.failed, webhook) end
  redis.call('ZADD', dead, now_text, id)
  redis.call('HINCRBY', K.queue(queue), Q.dead, 1)
  local over = redis.call('ZCARD', dead) - cap
  if over > 0 then
    for _, old in ipairs(redis.call('ZRANGE', dead, 0, math.min(over, 100) - 1)) do
      redis.call('ZREM', dead, old)
      drop_input(old, K.task(old))
      redis.call('UNLINK', K.steps(old))
    end
  end
  notify_end(id, S.failed, now_text, whole(now + keep), result)
end

-- Puts an error at the head of the task's last errors, of which five stay.
local function note_error(id, text)
  local key = K.task(id)
  local errors = {}
  local stored = redis.call('HGET', key, F.errors)
  if stored then errors = cjson.decode(stored) end
  table.insert(errors, 1, text)
  while #errors > 5 do table.remove(errors) end
  redis.call('HSET', key, F.errors, cjson.encode(errors))
end
