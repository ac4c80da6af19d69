-- Takes service times (ms) into a queue's statistics: their mean and variance, and how far the mean was off as a forecast. At
-- the start of each block of so many tasks the mean of the block is foretold by the mean so far; at its end it is known. The
-- field holds, of each length of block, {what is foretold, the total of all times when it began, mean square error}.
local BLOCKS = C.forecastBlocks
-- A new time, or error, weighs at least this much, so that a mean of many still follows a change.
local LEAST_WEIGHT, LEAST_ERROR_WEIGHT = C.leastWeight, 0.1

local function read_foretold(key)
  local foretold = {}
  for number in string.gmatch(redis.call('HGET', key, Q.foretold) or '', '%S+') do foretold[#foretold + 1] = tonumber(number) end
  return foretold
end

-- Ends the blocks that end with this sample, and begins the next ones.
local function foretell(foretold, samples, total, mean)
  for n, length in ipairs(BLOCKS) do
    if samples % length == 0 then
      local at = n * 3 - 2
      -- Nothing was foretold of the first block.
      local ended = samples / length - 1
      if ended > 0 and foretold[at + 2] then
        local miss = (total - foretold[at + 1]) / length - foretold[at]
        foretold[at + 2] = foretold[at + 2] + math.max(1 / ended, LEAST_ERROR_WEIGHT) * (miss * miss - foretold[at + 2])
      end
      foretold[at], foretold[at + 1], foretold[at + 2] = mean, total, foretold[at + 2] or 0
    end
  end
end

local function note_service(queue, times)
  local key = K.queue(queue)
  local q = redis.call('HMGET', key, Q.mean, Q.variance, Q.samples, Q.total)
  local mean, variance, samples = tonumber(q[1] or 0), tonumber(q[2] or 0), tonumber(q[3] or 0)
  local total = tonumber(q[4] or 0)
  -- Read and written only where one of the times ends a block.
  local foretold
  for _, time in ipairs(times) do
    samples, total = samples + 1, total + time
    local weight = math.max(1 / samples, LEAST_WEIGHT)
    local distance = time - mean
    mean = mean + weight * distance
    variance = (1 - weight) * (variance + weight * distance * distance)
    if samples % BLOCKS[1] == 0 then
      foretold = foretold or read_foretold(key)
      foretell(foretold, samples, total, mean)
    end
  end
  redis.call(
    'HSET', key, Q.mean, string.format('%.3f', mean), Q.variance, string.format('%.3f', variance), Q.samples, whole(samples),
    'total', whole(total)
  )
  if foretold then
    local words = {}
    for n, number in ipairs(foretold) do words[n] = string.format('%.3f', number) end
    redis.call('HSET', key, Q.foretold, table.concat(words, ' '))
  end
end
