-- Notes in the partition of their ids that tasks are in another one, before they are submitted there: all tasks of a keyed queue are in
-- one partition. So an id has at most one task, and is found by its id alone.
--
-- keys[1]  the tag of the partition of the ids
-- args[1]  check: ms until it is first checked whether there is such a task, see repoint.lua
-- args[2]  count: number of tasks, each with the four arguments that follow
-- args[3…] id, queue, caller, home: their partition
--
-- Returns a verdict of each: "new" and the score that repoint.lua forgets it by, as long as nobody has noted it again; "noted" where it has
-- been before; "taken": the id has a task here, or one of another queue.

local whole = Number.whole

local function point(call, check, id, queue, caller, home)
  local key, moved = K.task(call, id), K.moved(call)
  local known_queue, known_home = unpack(redis.call('HMGET', key, F.queue, F.home))
  if not known_queue then
    redis.call('HSET', key, F.queue, queue, F.home, home)
    if caller ~= '' then redis.call('HSET', key, F.caller, caller) end
    redis.call('ZADD', moved, whole(check), id)
    return 'new ' .. whole(check)
  end
  if known_queue ~= queue or known_home ~= home then return 'taken' end
  -- With another score: whoever was first must not forget it now.
  redis.call('ZADD', moved, whole(math.max(check, 1 + (redis.call('ZSCORE', moved, id) or 0))), id)
  return 'noted'
end

register('point', {}, function(keys, args)
  local call, verdicts = Call.new(keys), {}
  local check = call.now + tonumber(args[1])
  for n = 1, tonumber(args[2]) do verdicts[n] = point(call, check, unpack(args, n * 4 - 1, n * 4 + 2)) end
  return verdicts
end)
