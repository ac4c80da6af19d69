-- Time is Redis's own: no client's clock orders tasks or ends a lease.
local EPOCH, CLASS = C.epochMs, C.classSpan

local TIME = redis.call('TIME')
local now_exact = TIME[1] * 1000 + TIME[2] / 1000
local now = math.floor(now_exact)

-- Lua writes numbers with 14 digits; scores, fences and times have up to 16. In two parts, each of which fits 32 bits as in the
-- embedded store: that takes a quarter of the time of '%.0f'.
local format, floor = string.format, math.floor
local HALF, HUNDRED = 100000000, 100
-- Places and fences of a call follow one another, so that mostly only the last two digits are new.
local LAST_DIGITS = '00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748'
  .. '49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697' .. '9899'
local digits, hundreds, written_hundreds = string.sub, nil, nil
local function whole(number)
  if number % 1 ~= 0 or number <= -HALF then return format('%.0f', number) end
  if number < HALF then return format('%d', number) end
  local last = number % HUNDRED
  local rest = (number - last) / HUNDRED
  if rest ~= hundreds then
    hundreds = rest
    written_hundreds = rest < HALF and format('%d', rest) or format('%d%08d', floor(rest / HALF), rest % HALF)
  end
  return written_hundreds .. digits(LAST_DIGITS, last * 2 + 1, last * 2 + 2)
end
local now_text = whole(now)

-- The next place in line of a queue: unique, and later than all before even when the clock was set back.
local function tick_hlc(last)
  return math.max(last + 1, math.floor((now_exact - EPOCH) * 16))
end
