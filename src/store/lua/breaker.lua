-- The circuit breaker of a queue whose target is down: while it is open no work is taken. Its fields in
-- the queue's hash:
--   failures  references of the latest consecutive failures, with a space between
--   breaker   "since next probes reason": when it opened, when a probe may start, how many have failed
--   probe     "until request": who probes, and until when that counts if it is not renewed
local Breaker = {}

local whole = Number.whole

-- The time between two probes; doubles with each failed probe.
function Breaker.interval(probes)
  return math.min(C.longestProbeMs, C.firstProbeMs * 2 ^ math.min(probes, 30))
end

function Breaker.write(call, queue, breaker)
  local text = whole(breaker.since) .. ' ' .. whole(breaker.next) .. ' ' .. breaker.probes .. ' ' .. breaker.reason
  redis.call('HSET', K.queue(call, queue), Q.breaker, text)
end

-- Reads Q.breaker; nil if it is closed. A time in the future is from before the clock was set back, and counts from now on.
function Breaker.read(call, text)
  local since, next_probe, probes, reason = string.match(text or '', '^(%d+) (%d+) (%d+) (.*)$')
  if not since then return nil end
  local breaker = { since = math.min(tonumber(since), call.now), probes = tonumber(probes), reason = reason }
  breaker.next = math.min(tonumber(next_probe), call.now + Breaker.interval(breaker.probes))
  return breaker
end

-- Reads Q.probe: who probes (nil if nobody), and for how long that still counts, ms.
function Breaker.probe(call, text, longest)
  local until_when, request = string.match(text or '', '^(%d+) (.*)$')
  if not until_when then return nil, 0 end
  return request, math.min(tonumber(until_when) - call.now, longest)
end

return Breaker
