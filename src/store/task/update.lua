-- Replaces the input of a task that has not begun. It keeps its place; in a keyed line it comes after tasks of its new line key that were
-- before it.

local function put(key, field, value)
  if value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
end

local function update(call, key, asked)
  local id = asked.id
  local state, run, replaced, queue, of_key = unpack(redis.call('HMGET', key, F.state, F.run, F.revision, F.queue, F.key))
  if not state then return 'unknown' end
  if not Allowed.replace(state, run) then return 'conflict' end
  if asked.revision and tonumber(replaced or 0) ~= asked.revision then return 'changed' end

  if asked.key then
    local _, name, most = Keyed.asked(asked.key)
    local refusal = Keyed.change(call, queue, id, state, of_key, name, most)
    if refusal then return refusal end
  end
  Input.drop(call, id, key)
  if asked.digest == '' then
    redis.call('HSET', key, F.input, asked.input)
  else
    Input.store(call, id, key, asked.input)
    redis.call('HDEL', key, F.input)
  end
  put(key, F.digest, asked.digest)
  for name, value in pairs(asked.fields) do
    if F[name] then put(key, F[name], value) end
  end
  redis.call('HINCRBY', key, F.revision, 1)
  redis.call('HSET', key, F.extra, '1')
  -- Steps that a dead task kept until it was retried.
  redis.call('UNLINK', K.steps(call, id))
  Notices.change(call, id, state)
  return 'updated', true
end

-- Returns "updated", "conflict" (a worker has or had it, or it is finished), "changed" (it has another revision), "too-many" (too many of its
-- new line key wait; the rest: see Keyed.refusal) or "unknown".
register('update', {}, function(call, asked)
  local verdict = Call.once(call, K.task(call, asked.id), F.answers, A.update, update, asked)
  Notices.send(call)
  Keyed.close(call)
  return verdict
end)
