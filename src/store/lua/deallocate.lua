-- Gives an allocated id back: its task has come, or never will.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
--
-- Returns nothing.
-- flags: allow-oom
local base = KEYS[1]

local id = ARGV[1]
redis.call('UNLINK', base .. 'i:' .. id)
