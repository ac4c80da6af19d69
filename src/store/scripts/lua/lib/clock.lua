-- Time is Redis's own: no client's clock orders tasks or ends a lease.
local EPOCH, CLASS = C.epochMs, C.classSpan

local TIME = redis.call('TIME')
local now_exact = TIME[1] * 1000 + TIME[2] / 1000
local now = math.floor(now_exact)

-- Lua writes numbers with 14 digits; scores, fences and times have up to 16. In two parts, each of which fits 32 bits as in the
-- embedded store: that takes a quarter of the time of '%.0f'.
local format, floor = string.format, math.floor
local HALF = 100000000
local function whole(number)
  if number >= HALF and number % 1 == 0 then return format('%d%08d', floor(number / HALF), number % HALF) end
  return format('%.0f', number)
end
local now_text = whole(now)

-- The same for numbers that come again and again within a call: writing one takes time of its own.
local written = {}
local function often(number)
  local text = written[number]
  if not text then
    text = whole(number)
    written[number] = text
  end
  return text
end

-- The next place in line of a queue: unique, and later than all before even when the clock was set back.
local function tick_hlc(last)
  return math.max(last + 1, math.floor((now_exact - EPOCH) * 16))
end
