-- Writes the number of partitions at the first start. Tiny, and needed to drain: it is written at the memory limit too.
--
-- KEYS[1]  base: the tag of partition 0
-- ARGV[1]  partitions
--
-- Returns the number that is written: this one, or that of the first start.
-- flags: allow-oom
local base = KEYS[1]

local partitions = ARGV[1]
redis.call('SET', K.partitions, partitions, 'NX')
return redis.call('GET', K.partitions)
