-- How far the means of a queue's service times were off as forecasts: of the latest, and the slow one, of about the last thousand.
-- At the start of each block of so many tasks the mean of the block is foretold by both means; at its end it is known. Needs clock.
--   blocks    of each length of block {the mean when it began, the slow mean, the total of all times}
--   forecast  the slow mean; then of each length of block the mean square errors {of the mean, of the slow mean}
-- Both are lists of numbers with a space between, read and written only at the end of a block; what does not change stays text.
local BLOCKS = C.forecastBlocks
-- A new block or error weighs at least this much, so that a mean of many still follows a change.
local LEAST_SLOW_WEIGHT, LEAST_ERROR_WEIGHT = C.leastSlowWeight, 0.1

local function words_of(text)
  local words = {}
  for word in string.gmatch(text or '', '%S+') do words[#words + 1] = word end
  return words
end

local function decimals(number)
  return format('%.3f', number)
end

-- Ends the blocks that end with this sample, and begins the next ones.
--   lists  both of them, see forecast_of
local function foretell(lists, samples, total, mean)
  local blocks, forecast = lists[1], lists[2]
  local shortest = BLOCKS[1]
  local slow = tonumber(forecast[1] or mean)
  if blocks[3] then
    local weight = math.max(shortest / samples, LEAST_SLOW_WEIGHT)
    slow = slow + weight * ((total - tonumber(blocks[3])) / shortest - slow)
  end
  forecast[1] = decimals(slow)
  for n, length in ipairs(BLOCKS) do
    if samples % length == 0 then
      local block, errors = n * 3 - 2, n * 2
      -- Nothing was foretold of the first block.
      local began = blocks[block + 2]
      for which = 0, 1 do
        local before = tonumber(forecast[errors + which] or 0)
        if began then
          local miss = (total - tonumber(began)) / length - tonumber(blocks[block + which])
          local weight = math.max(1 / (samples / length - 1), LEAST_ERROR_WEIGHT)
          before = before + weight * (miss * miss - before)
        end
        forecast[errors + which] = decimals(before)
      end
      blocks[block], blocks[block + 1], blocks[block + 2] = decimals(mean), forecast[1], whole(total)
    end
  end
end

-- {blocks, forecast} of a queue.
local function forecast_of(queue)
  local kept = redis.call('HMGET', K.queue(queue), Q.blocks, Q.forecast)
  return { words_of(kept[1]), words_of(kept[2]) }
end

local function keep_forecast(queue, lists)
  redis.call('HSET', K.queue(queue), Q.blocks, table.concat(lists[1], ' '), Q.forecast, table.concat(lists[2], ' '))
end
