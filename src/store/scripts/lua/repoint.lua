-- Forgets where tasks are that have gone, see point.lua, and says of which tasks that is to be checked now.
--
-- KEYS[1]  base: the tag of the partition of the ids
-- ARGV[1]  next: ms until those that are still there are checked again
-- ARGV[2]  limit: most tasks to be returned
-- ARGV[3]  count: number of tasks that have been checked, each with the three arguments that follow
-- ARGV[4…] id, score (as it was returned; where it has changed meanwhile the id is in use again), there ("1" or "0")
--
-- Returns {id, score, home, …}.
-- flags: allow-oom
local base = KEYS[1]
--#include clock

for n = 0, tonumber(ARGV[3]) - 1 do
  local id, score, there = unpack(ARGV, 4 + n * 3, 6 + n * 3)
  if redis.call('ZSCORE', K.moved, id) == score then
    if there == '1' then
      redis.call('ZADD', K.moved, whole(now + tonumber(ARGV[1])), id)
    else
      redis.call('ZREM', K.moved, id)
      if redis.call('HEXISTS', K.task(id), F.home) == 1 then redis.call('UNLINK', K.task(id)) end
    end
  end
end

local due = {}
local found = redis.call('ZRANGEBYSCORE', K.moved, '-inf', now_text, 'WITHSCORES', 'LIMIT', 0, tonumber(ARGV[2]))
for n = 1, #found, 2 do
  due[#due + 1] = found[n]
  due[#due + 1] = found[n + 1]
  due[#due + 1] = redis.call('HGET', K.task(found[n]), F.home) or ''
end
return due
