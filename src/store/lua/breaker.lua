-- The circuit breaker of a queue whose target is down, in the partition that keeps it: while it is open the queue rests. Its fields in
-- the queue's hash:
--   failures  references of the latest consecutive failures, with a space between
--   rest      "since next probes reason": when it opened, when a probe may start, how many have failed
--   probe     "until request": who probes, and until when that counts without another word
local Breaker = {}

local whole = Number.whole

-- The time between two probes; doubles with each failed probe.
function Breaker.interval(probes)
  return math.min(C.longestProbeMs, C.firstProbeMs * 2 ^ math.min(probes, 30))
end

function Breaker.write(call, queue, rest)
  local text = whole(rest.since) .. ' ' .. whole(rest.next) .. ' ' .. rest.probes .. ' ' .. rest.reason
  redis.call('HSET', K.queue(call, queue), Q.rest, text)
end

-- Reads Q.rest; nil if it is closed. A time in the future is from before the clock was set back, and counts from now on.
function Breaker.rest(call, text)
  local since, next_probe, probes, reason = string.match(text or '', '^(%d+) (%d+) (%d+) (.*)$')
  if not since then return nil end
  local rest = { since = math.min(tonumber(since), call.now), probes = tonumber(probes), reason = reason }
  rest.next = math.min(tonumber(next_probe), call.now + Breaker.interval(rest.probes))
  return rest
end

-- Reads Q.probe: who probes (nil if nobody), and for how long that still counts, ms.
function Breaker.probe(call, text, longest)
  local until_when, request = string.match(text or '', '^(%d+) (.*)$')
  if not until_when then return nil, 0 end
  return request, math.min(tonumber(until_when) - call.now, longest)
end

return Breaker
