-- Forgets where tasks are that have gone, see point.lua, and says of which tasks that is to be checked now.
--
-- KEYS[1]  base: the tag of the partition of the ids
-- ARGV[1]  limit: most tasks to be returned
-- ARGV[2]  claim: ms for which a task that is returned is left to the caller
-- ARGV[3]  count: number of tasks that have been checked, each with the three arguments that follow
-- ARGV[4…] id, score (as it was returned; where it has changed meanwhile the id is in use again, or another caller checks it), next (ms
--          until it is to be checked again, "" if the task has gone)
--
-- Returns {id, score, home, …}.
-- flags: allow-oom
local base = KEYS[1]
--#include clock

for n = 0, tonumber(ARGV[3]) - 1 do
  local id, score, next_check = unpack(ARGV, 4 + n * 3, 6 + n * 3)
  if redis.call('ZSCORE', K.moved, id) == score then
    if next_check == '' then
      redis.call('ZREM', K.moved, id)
      if redis.call('HEXISTS', K.task(id), F.home) == 1 then redis.call('UNLINK', K.task(id)) end
    else
      redis.call('ZADD', K.moved, whole(now + tonumber(next_check)), id)
    end
  end
end

local due, claimed = {}, whole(now + tonumber(ARGV[2]))
for n, id in ipairs(redis.call('ZRANGEBYSCORE', K.moved, '-inf', now_text, 'LIMIT', 0, tonumber(ARGV[1]))) do
  redis.call('ZADD', K.moved, claimed, id)
  due[3 * n - 2], due[3 * n - 1] = id, claimed
  due[3 * n] = redis.call('HGET', K.task(id), F.home) or ''
end
return due
