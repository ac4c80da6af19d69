-- Counts, for tasks of other partitions, how many of this one stand before them in the same queue, and how long the line is.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of questions, each with the two arguments that follow
-- ARGV[2…] queue, score
--
-- Returns of each {before, waiting, scheduled, running}.
-- flags: no-writes
local base = KEYS[1]

local answers = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, score = ARGV[2 + n * 2], ARGV[3 + n * 2]
  answers[n + 1] = {
    redis.call('ZCOUNT', base .. 'w:' .. queue, '-inf', '(' .. score),
    redis.call('ZCARD', base .. 'w:' .. queue),
    redis.call('ZCARD', base .. 'd:' .. queue),
    redis.call('ZCARD', base .. 'l:' .. queue),
  }
end
return answers
