-- How far the means of a queue's service times were off as forecasts: of the latest, and the slow one, of about the last thousand.
-- At the start of each block of tasks both means forecast the mean of the block; at its end the real one is known.
--   Q.foretold  as Lua's struct library packs them: the slow mean; then of each length of block {the mean when it began, the slow mean,
--               the total of all times (-1 before the first), the mean square errors of the mean and of the slow mean}
--   Q.forecast  what is read of it elsewhere, as text: the slow mean; then of each length of block both errors
-- Both are written only at the end of a block.
local Forecast = {}

local BLOCKS = C.forecastBlocks
-- The minimum weight of a new error, so that a mean of many still follows a change.
local MIN_ERROR_WEIGHT = 0.1

local function packed_format()
  return '<d' .. string.rep('ddddd', #BLOCKS)
end

-- What is known of a queue: the numbers that are packed.
--   mean  used if nothing is known
function Forecast.read(call, queue, mean)
  local packed = redis.call('HGET', K.queue(call, queue), Q.foretold)
  if packed then return { struct.unpack(packed_format(), packed) } end
  local known = { mean }
  for n = 2, 1 + 5 * #BLOCKS do known[n] = n % 5 == 4 and -1 or 0 end
  return known
end

-- Ends the blocks that end with this sample, and begins the next ones.
function Forecast.next_block(known, samples, total, mean)
  local shortest, slow = BLOCKS[1], known[1]
  if known[4] >= 0 then
    slow = slow + math.max(shortest / samples, C.minSlowWeight) * ((total - known[4]) / shortest - slow)
    known[1] = slow
  end
  for n, length in ipairs(BLOCKS) do
    if samples % length == 0 then
      local at = 5 * n - 3
      local began = known[at + 2]
      -- There was no forecast for the first block.
      if began >= 0 then
        local weight = math.max(1 / (samples / length - 1), MIN_ERROR_WEIGHT)
        for which = at, at + 1 do
          local miss = (total - began) / length - known[which]
          known[which + 3] = known[which + 3] + weight * (miss * miss - known[which + 3])
        end
      end
      known[at], known[at + 1], known[at + 2] = mean, slow, total
    end
  end
end

function Forecast.write(call, queue, known)
  local shown = { known[1] }
  for n = 1, #BLOCKS do shown[2 * n], shown[2 * n + 1] = known[5 * n], known[5 * n + 1] end
  local text = string.format('%.3f' .. string.rep(' %.3f %.3f', #BLOCKS), unpack(shown))
  redis.call('HSET', K.queue(call, queue), Q.foretold, struct.pack(packed_format(), unpack(known)), Q.forecast, text)
end

return Forecast
