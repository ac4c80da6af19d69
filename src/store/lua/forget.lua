-- Forgets dead tasks, the oldest first: what they hold is destroyed.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
-- ARGV[2]  limit: the most in one call
--
-- Returns how many were forgotten; as many as the limit when there may be more.
-- flags: allow-oom
local base = KEYS[1]

local queue, limit = ARGV[1], tonumber(ARGV[2])
local dead = redis.call('ZPOPMIN', base .. 'x:' .. queue, limit)
for n = 1, #dead, 2 do
  local id = dead[n]
  local key = base .. 't:' .. id
  redis.call('UNLINK', base .. 'r:' .. id, base .. 'b:' .. id, base .. 's:' .. id)
  if redis.call('EXISTS', key) == 1 then
    redis.call('HDEL', key, 'E')
    redis.call('HSET', key, 'g', '1')
    redis.call('PUBLISH', base .. 'e:' .. id, 'g')
  end
end
return #dead / 2
