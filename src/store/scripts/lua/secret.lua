-- Writes the deployment's secret where there is none. Tiny, and needed to answer: it is written at the memory limit too.
--
-- KEYS[1]  base: the tag of partition 0
-- ARGV[1]  proposal: the secret that is written if there is none
--
-- Returns the secret that is written: this one, or that of whoever came first.
-- flags: allow-oom
local base = KEYS[1]

local proposal = ARGV[1]
redis.call('SET', K.secret, proposal, 'NX')
return redis.call('GET', K.secret)
