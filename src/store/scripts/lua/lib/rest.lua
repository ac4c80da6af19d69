-- The rest of a queue whose target is down, in the partition that keeps it. Its fields in the queue's hash:
--   failures  references of the latest consecutive failures, with a space between
--   rest      "since next probes reason": when it began, when a probe may start, how many have failed
--   probe     "until request": who probes, and until when that counts without another word
-- Needs clock.
local FAILURES, FIRST_MS, LONGEST_MS = C.restFailures, C.firstProbeMs, C.longestProbeMs

-- The time between two probes: doubles with each that failed.
local function probe_interval(probes)
  return math.min(LONGEST_MS, FIRST_MS * 2 ^ math.min(probes, 30))
end

local function write_rest(queue, rest)
  local text = whole(rest.since) .. ' ' .. whole(rest.next) .. ' ' .. rest.probes .. ' ' .. rest.reason
  redis.call('HSET', K.queue(queue), Q.rest, text)
end

-- Reads a rest; nil if there is none. What lies in the future was written before the clock was set back: it counts from now on.
local function rest_of(text)
  local since, next_probe, probes, reason = string.match(text or '', '^(%d+) (%d+) (%d+) (.*)$')
  if not since then return nil end
  local rest = { since = math.min(tonumber(since), now), probes = tonumber(probes), reason = reason }
  rest.next = math.min(tonumber(next_probe), now + probe_interval(rest.probes))
  return rest
end

-- Who probes, and for how long that still counts, ms; nil if nobody.
local function probe_of(text, longest)
  local until_when, request = string.match(text or '', '^(%d+) (.*)$')
  if not until_when then return nil, 0 end
  return request, math.min(tonumber(until_when) - now, longest)
end
