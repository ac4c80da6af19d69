-- The histories of queues.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: the latest samples to return of each
-- ARGV[2…] queue: a name each
--
-- Returns {now (ms), of each {sample, …}, the newest first: see sample.lua}: a sample is "interval waiting running scheduled dead
-- accepted started finished failed", then the 50th and 95th percentile of service times, and of waits, ms, a hyphen for none. The
-- interval is the time of its beginning, in intervals.
-- flags: no-writes
local base = KEYS[1]
--#include clock

local last = tonumber(ARGV[1]) - 1
local histories = {}
for n = 2, #ARGV do histories[n - 1] = redis.call('LRANGE', K.history(ARGV[n]), 0, last) end
return { now_text, histories }
