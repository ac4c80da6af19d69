-- Ends a task with the stored form of its result that has any of the fields that few tasks have. Needs clock, keyed, input, follow,
-- result and settle.
-- Returns nothing if its cancel was requested: the result is dropped, and it is canceled.
local function complete_extra(queue, id, key, result, keep, tombstone)
  local cancel, webhook, undo, digest, steps, progress, output, deadline, of_key =
    unpack(redis.call('HMGET', key, F.cancel, F.webhook, F.undo, F.digest, F.stepBytes, F.progress, F.output, F.deadline, F.key))
  if cancel then
    settle(id, S.canceled, keep, tombstone)
    return
  end
  local expires = mark_ended(id, key, S.succeeded, keep, tombstone, result)
  if digest or steps or progress then
    redis.call('HDEL', key, F.progress)
    if undo then
      -- What it has done can be undone, when its result is destroyed: its input and steps stay as long.
      redis.call('PEXPIRE', K.input(id), keep)
      redis.call('PEXPIRE', K.steps(id), keep)
    else
      drop_input(id, key)
      redis.call('UNLINK', K.steps(id))
    end
  end
  if output then redis.call('PEXPIRE', K.output(id), keep) end
  if deadline then redis.call('ZREM', K.deadlines(queue), id) end
  if of_key then free_key(queue, id, of_key) end
  if webhook then tell_webhook(id, S.succeeded, webhook) end
  return expires
end
