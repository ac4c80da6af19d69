-- Finds the partitions of tasks that are not in that of their id: see point.lua.
--
-- KEYS[1]  base: the tag of the partition of the ids
-- ARGV[1…] id: of a task each
--
-- Returns of each its partition; "" where the task is in this one, or unknown.
-- flags: no-writes
local base = KEYS[1]

local homes = {}
for n, id in ipairs(ARGV) do homes[n] = redis.call('HGET', K.task(id), F.home) or '' end
return homes
