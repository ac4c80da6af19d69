-- Makes a state terminal. The first caller wins: every script looks at the state before it comes here. Needs follow.
--   result  the stored form of the answer, or nil for none
--   keep    how long the result stays, ms; tombstone: how much longer "expired" is told from "unknown", ms
--   hook    the task's webhook, or nil
--   undo    what it has done can be undone: at once when it did not succeed, later when its result is destroyed
--   bare    it is known to have no progress, no request to cancel it, no input of its own key and no steps
local function settle(id, state, result, keep, tombstone, hook, undo, bare)
  local key = K.task(id)
  local keep_text = often(keep)
  redis.call('HSET', key, F.state, state, F.ended, now_text, F.expires, often(now + keep))
  redis.call('PEXPIRE', key, often(keep + tombstone))
  if not bare then redis.call('HDEL', key, F.progress, F.cancel) end
  if undo and state == S.succeeded then
    redis.call('PEXPIRE', K.input(id), keep_text)
    redis.call('PEXPIRE', K.steps(id), keep_text)
  else
    if undo then undo_work(id) end
    if not bare then redis.call('UNLINK', K.input(id), K.steps(id)) end
  end
  if hook then tell_webhook(id, state, hook) end
  if result then
    redis.call('SET', K.result(id), result, 'PX', keep_text)
  end
  redis.call('PUBLISH', K.changes(id), state)
end

-- A dead task is a failed one whose input stays, to be run again; the oldest leave when there are more than cap.
local function bury(queue, id, result, keep, tombstone, cap, hook, undo)
  local key = K.task(id)
  local dead = K.dead(queue)
  redis.call('HDEL', key, F.progress, F.cancel)
  redis.call('HSET', key, F.state, S.failed, F.ended, now_text, F.expires, whole(now + keep))
  redis.call('PEXPIRE', key, whole(keep + tombstone))
  redis.call('PEXPIRE', K.input(id), whole(keep))
  redis.call('PEXPIRE', K.steps(id), whole(keep))
  -- As long as the undoing has not begun, a retry of the task takes it back: see retry.lua.
  if undo then redis.call('HSET', key, F.undoing, undo_work(id)) end
  if hook then tell_webhook(id, S.failed, hook) end
  redis.call('SET', K.result(id), result, 'PX', whole(keep))
  redis.call('ZADD', dead, now_text, id)
  redis.call('HINCRBY', K.queue(queue), Q.dead, 1)
  local over = redis.call('ZCARD', dead) - cap
  if over > 0 then
    for _, old in ipairs(redis.call('ZRANGE', dead, 0, math.min(over, 100) - 1)) do
      redis.call('ZREM', dead, old)
      redis.call('UNLINK', K.input(old), K.steps(old))
    end
  end
  redis.call('PUBLISH', K.changes(id), S.failed)
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
