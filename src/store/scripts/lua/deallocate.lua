-- Gives an allocated id back: its task has come, or never will.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
-- ARGV[2]  queue
--
-- Returns nothing.
-- flags: allow-oom
local base = KEYS[1]

local id, queue = ARGV[1], ARGV[2]
redis.call('UNLINK', K.allocation(id))
redis.call('ZREM', K.allocated(queue), id)
