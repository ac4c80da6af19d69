-- Forgets where tasks are that have gone, see point.lua, and says of which tasks that is to be checked now.
--
-- keys[1]  the tag of the partition of the ids
-- args[1]  limit: most tasks to be returned
-- args[2]  claim: ms for which a task that is returned is left to the caller
-- args[3]  count: number of tasks that have been checked, each with the three arguments that follow
-- args[4…] id, score (as it was returned; where it has changed meanwhile the id is in use again, or another caller checks it), next (ms
--          until it is to be checked again, "" if the task has gone)
--
-- Returns {id, score, home, …}.

local whole = Number.whole

local function note_check(call, id, score, next_check)
  local moved, key = K.moved(call), K.task(call, id)
  if redis.call('ZSCORE', moved, id) ~= score then return end
  if next_check == '' then
    redis.call('ZREM', moved, id)
    if redis.call('HEXISTS', key, F.home) == 1 then redis.call('UNLINK', key) end
  else
    redis.call('ZADD', moved, whole(call.now + tonumber(next_check)), id)
  end
end

register('repoint', { 'allow-oom' }, function(keys, args)
  local call, limit = Call.new(keys), tonumber(args[1])
  for n = 1, tonumber(args[3]) do note_check(call, unpack(args, n * 3 + 1, n * 3 + 3)) end

  local due, claimed = {}, whole(call.now + tonumber(args[2]))
  for n, id in ipairs(redis.call('ZRANGEBYSCORE', K.moved(call), '-inf', call.now_text, 'LIMIT', 0, limit)) do
    redis.call('ZADD', K.moved(call), claimed, id)
    due[3 * n - 2], due[3 * n - 1] = id, claimed
    due[3 * n] = redis.call('HGET', K.task(call, id), F.home) or ''
  end
  return due
end)
