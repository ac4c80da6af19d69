-- Makes a state terminal. The first caller wins: every script looks at the state before it comes here. Needs follow.
--   result  the stored form of the answer, or nil for none
--   keep    how long the result stays, ms; tombstone: how much longer "expired" is told from "unknown", ms
--   hook    the task's webhook, or nil
--   undo    what it has done can be undone: at once when it did not succeed, later when its result is destroyed
--   bare    it is known to have no progress, no request to cancel it, no input of its own key and no steps
local function settle(id, state, result, keep, tombstone, hook, undo, bare)
  local key = base .. 't:' .. id
  local keep_text = often(keep)
  redis.call('HSET', key, 's', state, 'e', now_text, 'x', often(now + keep))
  redis.call('PEXPIRE', key, often(keep + tombstone))
  if not bare then redis.call('HDEL', key, 'p', 'k') end
  if undo and state == 's' then
    redis.call('PEXPIRE', base .. 'b:' .. id, keep_text)
    redis.call('PEXPIRE', base .. 's:' .. id, keep_text)
  else
    if undo then undo_work(id) end
    if not bare then redis.call('UNLINK', base .. 'b:' .. id, base .. 's:' .. id) end
  end
  if hook then tell_webhook(id, state, hook) end
  if result then
    redis.call('SET', base .. 'r:' .. id, result, 'PX', keep_text)
  end
  redis.call('PUBLISH', base .. 'e:' .. id, state)
end

-- A dead task is a failed one whose input stays, to be run again; the oldest leave when there are more than cap.
local function bury(queue, id, result, keep, tombstone, cap, hook, undo)
  local key = base .. 't:' .. id
  local dead = base .. 'x:' .. queue
  redis.call('HDEL', key, 'p', 'k')
  redis.call('HSET', key, 's', 'f', 'e', now_text, 'x', whole(now + keep))
  redis.call('PEXPIRE', key, whole(keep + tombstone))
  redis.call('PEXPIRE', base .. 'b:' .. id, whole(keep))
  redis.call('PEXPIRE', base .. 's:' .. id, whole(keep))
  -- As long as the undoing has not begun, a retry of the task takes it back: see retry.lua.
  if undo then redis.call('HSET', key, 'Y', undo_work(id)) end
  if hook then tell_webhook(id, 'f', hook) end
  redis.call('SET', base .. 'r:' .. id, result, 'PX', whole(keep))
  redis.call('ZADD', dead, now_text, id)
  redis.call('HINCRBY', base .. 'q:' .. queue, 'dead', 1)
  local over = redis.call('ZCARD', dead) - cap
  if over > 0 then
    for _, old in ipairs(redis.call('ZRANGE', dead, 0, math.min(over, 100) - 1)) do
      redis.call('ZREM', dead, old)
      redis.call('UNLINK', base .. 'b:' .. old, base .. 's:' .. old)
    end
  end
  redis.call('PUBLISH', base .. 'e:' .. id, 'f')
end

-- Puts an error at the head of the task's last errors, of which five stay.
local function note_error(id, text)
  local key = base .. 't:' .. id
  local errors = {}
  local stored = redis.call('HGET', key, 'E')
  if stored then errors = cjson.decode(stored) end
  table.insert(errors, 1, text)
  while #errors > 5 do table.remove(errors) end
  redis.call('HSET', key, 'E', cjson.encode(errors))
end
