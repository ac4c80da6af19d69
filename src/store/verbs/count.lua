-- Counts, for tasks of other partitions, how many tasks of this partition are before them in the same queue, and how long the line is.

local whole = Number.whole
local QUESTION = Layout.count.item

local function count_before(line, score)
  -- In an empty line, no task is before another.
  return line.waiting == 0 and 0 or redis.call('ZCOUNT', line.key, '-inf', line.sign .. score)
end

-- Each score without a fraction belongs to one task only; scores with a fraction occur in fair lines.
local function is_unique(call, line)
  if line.unique == nil then line.unique = redis.call('EXISTS', K.shares(call, line.queue)) == 0 end
  return line.unique
end

-- The count of each whole number from first to the one before last, where those of first and last are known.
local function count_each(call, line, first, last, at_first, at_last)
  local answer, numbers = line.answer, last - first
  if numbers == 1 then
    answer[#answer + 1] = at_first
  elseif at_first == at_last then
    answer[#answer + 1] = at_first .. '*' .. numbers
  elseif at_last - at_first == numbers and is_unique(call, line) then
    answer[#answer + 1] = at_first .. '+' .. numbers
  else
    local middle = math.floor((first + last) / 2)
    local at_middle = count_before(line, whole(middle))
    count_each(call, line, first, middle, at_first, at_middle)
    count_each(call, line, middle, last, at_middle, at_last)
  end
end

local function count(call, args, at)
  local queue, equals, places = args[at + QUESTION.queue], args[at + QUESTION.equals] == '1', args[at + QUESTION.places]
  local line = { queue = queue, key = K.waiting(call, queue), sign = equals and '' or '(', unique = nil }
  line.waiting = redis.call('ZCARD', line.key)
  local breaker, live_until = unpack(redis.call('HMGET', K.queue(call, queue), Q.breaker, Q.liveUntil))
  local answer = {
    line.waiting, redis.call('ZCARD', K.scheduled(call, queue)), redis.call('ZCARD', K.leases(call, queue)), breaker and 1 or 0,
  }
  line.answer = answer
  for score, more in string.gmatch(places, '([^%s+]+)%+?(%d*)') do
    local before = count_before(line, Fair.own_score(call, queue, score))
    if more ~= '' then
      local last = tonumber(score) + tonumber(more)
      local before_last = count_before(line, whole(last))
      count_each(call, line, tonumber(score), last, before, before_last)
      before = before_last
    end
    answer[#answer + 1] = before
  end
  local starting = tonumber(live_until or 0) <= call.now and Warmup.of(call, queue, line.waiting, live_until)
  return table.concat(answer, ' ') .. (starting and '\n' .. starting or '')
end

-- Places are scores with a space between; "score+n" stands for a score and the n whole numbers that follow it. Returns of each queue, in one
-- string with a space between: waiting, scheduled, running, whether the circuit breaker is open ("1" or "0"), and of each task how many
-- stand before it; "count*n" stands for n times the same count, "count+n" for n counts of which each is one more than the one before. A
-- second line follows if there is no live worker: what is known of starts, see warmup.lua.
register('count', { 'no-writes' }, function(keys, args)
  return Call.each(Call.new(keys), args, Layout.count, count)
end)
