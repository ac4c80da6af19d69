-- Counts, for tasks of other partitions, how many of this one stand before them in the same queue, and how long the line is.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of queues, each with the arguments that follow
-- ARGV[2…] queue, places (how many bounds follow), and of each place the bound: the highest score that stands before it, as
--          ZCOUNT takes it ("(" in front leaves out its equals)
--
-- Returns of each queue {waiting, scheduled, running, and of each place how many stand before it}.
-- flags: no-writes
local base = KEYS[1]

local answers, at = {}, 2
for n = 1, tonumber(ARGV[1]) do
  local queue, places = ARGV[at], tonumber(ARGV[at + 1])
  local waiting = base .. 'w:' .. queue
  local answer = {
    redis.call('ZCARD', waiting),
    redis.call('ZCARD', base .. 'd:' .. queue),
    redis.call('ZCARD', base .. 'l:' .. queue),
  }
  for place = 1, places do
    local bound = ARGV[at + 1 + place]
    -- Where nobody waits nobody stands before anyone.
    answer[3 + place] = answer[1] == 0 and 0 or redis.call('ZCOUNT', waiting, '-inf', bound)
  end
  answers[n] = answer
  at = at + 2 + places
end
return answers
