-- Counts, for tasks of other partitions, how many of this one stand before them in the same queue, and how long the line is.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of questions, each with the two arguments that follow
-- ARGV[2…] queue, bound (the highest score that stands before the task, as ZCOUNT takes it: "(" in front leaves out its equals)
--
-- Returns of each {before, waiting, scheduled, running}.
-- flags: no-writes
local base = KEYS[1]

local answers, lengths = {}, {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, bound = ARGV[2 + n * 2], ARGV[3 + n * 2]
  local of = lengths[queue]
  if not of then
    of = {}
    for i, kind in ipairs({ 'w', 'd', 'l' }) do of[i] = redis.call('ZCARD', base .. kind .. ':' .. queue) end
    lengths[queue] = of
  end
  answers[n + 1] = { redis.call('ZCOUNT', base .. 'w:' .. queue, '-inf', bound), of[1], of[2], of[3] }
end
return answers
