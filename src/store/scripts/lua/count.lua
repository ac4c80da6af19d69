-- Counts, for tasks of other partitions, how many of this one stand before them in the same queue, and how long the line is.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1…] of each queue: its name, "<" or "<=" (whether equal scores stand before a task), and the scores of the tasks with a space
--          between
--
-- Returns of each queue, in one string with a space between: waiting, scheduled, running, resting ("1" or
-- "0"), and of each task how many stand before it.
-- flags: no-writes
local base = KEYS[1]
--#include relative

local answers = {}
for at = 1, #ARGV, 3 do
  local queue, sign = ARGV[at], ARGV[at + 1] == '<=' and '' or '('
  local line = K.waiting(queue)
  local waiting = redis.call('ZCARD', line)
  local resting = redis.call('HEXISTS', K.queue(queue), Q.rest)
  local answer = { waiting, redis.call('ZCARD', K.scheduled(queue)), redis.call('ZCARD', K.leases(queue)), resting }
  for score in string.gmatch(ARGV[at + 2], '%S+') do
    -- Where nobody waits nobody stands before anyone.
    answer[#answer + 1] = waiting == 0 and 0 or redis.call('ZCOUNT', line, '-inf', sign .. own_score(queue, score))
  end
  answers[#answers + 1] = table.concat(answer, ' ')
end
return answers
