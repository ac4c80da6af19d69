-- Looks up what is remembered with an allocated id.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
--
-- Returns the value, or "" when the id is not allocated or its time is over.
-- flags: no-writes
local base = KEYS[1]

local id = ARGV[1]
return redis.call('GET', K.allocation(id)) or ''
