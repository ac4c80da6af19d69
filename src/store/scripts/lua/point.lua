-- Notes in the partition of their ids that tasks are in another one, before they are submitted there: all tasks of a keyed queue are in
-- one partition. So an id has at most one task, and is found by its id alone.
--
-- KEYS[1]  base: the tag of the partition of the ids
-- ARGV[1]  check: ms until it is first checked whether there is such a task, see repoint.lua
-- ARGV[2]  count: number of tasks, each with the four arguments that follow
-- ARGV[3…] id, queue, caller, home: their partition
--
-- Returns a verdict of each: "new" and the score that repoint.lua forgets it by, as long as nobody has noted it again; "noted" where it has
-- been before; "taken": the id has a task here, or one of another queue.
local base = KEYS[1]
--#include clock

local verdicts = {}
for n = 0, tonumber(ARGV[2]) - 1 do
  local id, queue, caller, home = unpack(ARGV, 3 + n * 4, 6 + n * 4)
  local known_queue, known_home = unpack(redis.call('HMGET', K.task(id), F.queue, F.home))
  local check = now + tonumber(ARGV[1])
  if not known_queue then
    redis.call('HSET', K.task(id), F.queue, queue, F.home, home)
    if caller ~= '' then redis.call('HSET', K.task(id), F.caller, caller) end
    redis.call('ZADD', K.moved, whole(check), id)
    verdicts[n + 1] = 'new ' .. whole(check)
  elseif known_queue ~= queue or known_home ~= home then
    verdicts[n + 1] = 'taken'
  else
    -- With another score: whoever was first must not forget it now.
    redis.call('ZADD', K.moved, whole(math.max(check, 1 + (redis.call('ZSCORE', K.moved, id) or 0))), id)
    verdicts[n + 1] = 'noted'
  end
end
return verdicts
