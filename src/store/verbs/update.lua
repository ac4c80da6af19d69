-- Replaces the input of a task that has not begun. It keeps its place; in a keyed line it comes after tasks of its new line key that were
-- before it.

local ARGS, REPLACED = Layout.update.args, Layout.update.replaced

local function put(key, field, value)
  if value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
end

-- Returns "updated", "conflict" (a worker has or had it, or it is finished), "changed" (it has another revision), "too-many" (too many of its
-- new line key wait; the rest: see Keyed.refusal) or "unknown".
register('update', {}, function(keys, args)
  local call = Call.untimed(keys)
  local id, input, digest, word = args[ARGS.id], args[ARGS.input], args[ARGS.digest], args[ARGS.call]
  local revision, new_key = args[ARGS.revision], args[ARGS.key]
  local key = K.task(call, id)
  local state, run, answers, replaced, queue, of_key =
    unpack(redis.call('HMGET', key, F.state, F.run, F.answers, F.revision, F.queue, F.key))
  if not state then return 'unknown' end
  if Answers.find(answers, A.update .. word) then return 'updated' end
  if not Allowed.replace(state, run) then return 'conflict' end
  if revision ~= '' and (replaced or '0') ~= revision then return 'changed' end

  if new_key ~= '' then
    local _, name, most = Keyed.asked(new_key)
    local refusal = Keyed.change(call, queue, id, state, of_key, name, most)
    if refusal then return refusal end
  end
  Input.drop(call, id, key)
  if digest == '' then
    redis.call('HSET', key, F.input, input)
  else
    Input.store(call, id, key, input)
    redis.call('HDEL', key, F.input)
  end
  put(key, F.digest, digest)
  for name in pairs(REPLACED) do
    if F[name] then put(key, F[name], args[ARGS[name]]) end
  end
  Answers.note(key, answers, A.update .. word, 'updated')
  redis.call('HINCRBY', key, F.revision, 1)
  redis.call('HSET', key, F.extra, '1')
  -- Steps that a dead task kept until it was retried.
  redis.call('UNLINK', K.steps(call, id))
  Notices.change(call, id, state)
  Notices.send(call)
  Keyed.close(call)
  return 'updated'
end)
