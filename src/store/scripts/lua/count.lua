-- Counts, for tasks of other partitions, how many of this one stand before them in the same queue, and how long the line is.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1…] of each queue: its name, "<" or "<=" (whether equal scores stand before a task), and the scores of the tasks with a space
--          between; "score+n" stands for a score and the n whole numbers that follow it
--
-- Returns of each queue, in one string with a space between: waiting, scheduled, running, resting ("1" or
-- "0"), and of each task how many stand before it; "count*n" stands for n times the same count, "count+n" for n counts of which each
-- is one more than the one before.
-- flags: no-writes
local base = KEYS[1]
--#include clock
--#include relative

local answers = {}
for at = 1, #ARGV, 3 do
  local queue, sign = ARGV[at], ARGV[at + 1] == '<=' and '' or '('
  local line = K.waiting(queue)
  local waiting = redis.call('ZCARD', line)
  local resting = redis.call('HEXISTS', K.queue(queue), Q.rest)
  local answer = { waiting, redis.call('ZCARD', K.scheduled(queue)), redis.call('ZCARD', K.leases(queue)), resting }
  local function count_before(score)
    -- Where nobody waits nobody stands before anyone.
    return waiting == 0 and 0 or redis.call('ZCOUNT', line, '-inf', sign .. score)
  end
  -- Each score without a fraction is that of one task only, and fair lines are those that have others.
  local unique
  local function is_unique()
    if unique == nil then unique = redis.call('EXISTS', K.shares(queue)) == 0 end
    return unique
  end
  -- The same of each whole number from first to the one before last, where those of first and last are known.
  local function count_each(first, last, at_first, at_last)
    local numbers = last - first
    if numbers == 1 then
      answer[#answer + 1] = at_first
    elseif at_first == at_last then
      answer[#answer + 1] = at_first .. '*' .. numbers
    elseif at_last - at_first == numbers and is_unique() then
      answer[#answer + 1] = at_first .. '+' .. numbers
    else
      local middle = math.floor((first + last) / 2)
      local at_middle = count_before(whole(middle))
      count_each(first, middle, at_first, at_middle)
      count_each(middle, last, at_middle, at_last)
    end
  end
  for score, more in string.gmatch(ARGV[at + 2], '([^%s+]+)%+?(%d*)') do
    local first = count_before(own_score(queue, score))
    if more ~= '' then
      local last = tonumber(score) + tonumber(more)
      local at_last = count_before(whole(last))
      count_each(tonumber(score), last, first, at_last)
      first = at_last
    end
    answer[#answer + 1] = first
  end
  answers[#answers + 1] = table.concat(answer, ' ')
end
return answers
