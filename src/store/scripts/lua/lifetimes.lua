-- For how long tasks are still there.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1…] id: of a task each
--
-- Returns of each the ms until its record goes, as Redis says it: -1 as long as it has not ended, -2 if there is none.
-- flags: no-writes
local base = KEYS[1]

local left = {}
for n, id in ipairs(ARGV) do left[n] = redis.call('PTTL', K.task(id)) end
return left
