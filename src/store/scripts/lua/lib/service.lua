-- Takes service times (ms) into a queue's statistics: mean and variance of the latest, a slow mean of about the last thousand,
-- and how far each mean was off as a forecast. At the start of each block of so many tasks the mean of the block is foretold by
-- both means; at its end it is known.
--   blocks    of each length of block {the mean when it began, the slow mean, the total of all times}
--   forecast  the slow mean; then of each length of block the mean square errors {of the mean, of the slow mean}
-- Both are lists of numbers with a space between, read and written only at the end of a block; what does not change stays text.
local BLOCKS = C.forecastBlocks
-- A new time, block, or error, weighs at least this much, so that a mean of many still follows a change.
local LEAST_WEIGHT, LEAST_SLOW_WEIGHT, LEAST_ERROR_WEIGHT = C.leastWeight, C.leastSlowWeight, 0.1

local function words_of(text)
  local words = {}
  for word in string.gmatch(text or '', '%S+') do words[#words + 1] = word end
  return words
end

local function decimals(number)
  return string.format('%.3f', number)
end

-- Ends the blocks that end with this sample, and begins the next ones.
local function foretell(blocks, forecast, samples, total, mean)
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

local function note_service(queue, times)
  local key = K.queue(queue)
  local q = redis.call('HMGET', key, Q.mean, Q.variance, Q.samples, Q.total)
  local mean, variance, samples = tonumber(q[1] or 0), tonumber(q[2] or 0), tonumber(q[3] or 0)
  local total = tonumber(q[4] or 0)
  local blocks, forecast
  local shortest = BLOCKS[1]
  for nth = 1, #times do
    local time = times[nth]
    samples, total = samples + 1, total + time
    local weight = 1 / samples
    if weight < LEAST_WEIGHT then weight = LEAST_WEIGHT end
    local distance = time - mean
    mean = mean + weight * distance
    variance = (1 - weight) * (variance + weight * distance * distance)
    if samples % shortest == 0 then
      if not blocks then
        local kept = redis.call('HMGET', key, Q.blocks, Q.forecast)
        blocks, forecast = words_of(kept[1]), words_of(kept[2])
      end
      foretell(blocks, forecast, samples, total, mean)
    end
  end
  local m, v, n, sum = decimals(mean), decimals(variance), whole(samples), whole(total)
  if blocks then
    local began, known = table.concat(blocks, ' '), table.concat(forecast, ' ')
    redis.call('HSET', key, Q.mean, m, Q.variance, v, Q.samples, n, Q.total, sum, Q.blocks, began, Q.forecast, known)
  else
    redis.call('HSET', key, Q.mean, m, Q.variance, v, Q.samples, n, Q.total, sum)
  end
end
