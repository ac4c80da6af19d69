-- Keeps an id for a task that is to come.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
-- ARGV[2]  value: what to remember with it
-- ARGV[3]  ttl (ms)
--
-- Returns "kept", also when it was with the same value, or "taken" when it is with another or a task has it.
local base = KEYS[1]

local id, value, ttl = ARGV[1], ARGV[2], ARGV[3]
if redis.call('EXISTS', base .. 't:' .. id) == 1 then return 'taken' end
if redis.call('SET', base .. 'i:' .. id, value, 'NX', 'PX', ttl) then return 'kept' end
return redis.call('GET', base .. 'i:' .. id) == value and 'kept' or 'taken'
