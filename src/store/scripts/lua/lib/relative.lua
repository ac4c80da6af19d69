-- Scores for counting in other partitions. Each partition has virtual times of its own, see lib/fair.lua, so that a place in a fair line
-- is told as its distance from the virtual time. Scores of other lines are times, and remain as they are.
local SPAN, SIXTEENTH = C.classSpan, 8192

local function shifted(queue, score, sign)
  local class = math.floor(score / SPAN)
  local time = tonumber(redis.call('HGET', K.queue(queue), Q.virtual .. class) or 0)
  local place = ((score % SPAN) * 32 - 1) / 2 + sign * math.floor(math.max(0, time) / SIXTEENTH) * SIXTEENTH
  return string.format('%.5f', class * SPAN + (2 * math.min(math.max(0, place), SPAN * 16 - 1) + 1) / 32)
end

-- A score of this partition for others.
local function told_score(queue, score)
  return score % 1 == 0 and score or shifted(queue, score, -1)
end

-- A score of another partition in this one.
local function own_score(queue, score)
  return score % 1 == 0 and score or shifted(queue, score, 1)
end
