-- Asks whether work may be taken from a queue that rests while its target is down, in the partition that keeps its rest. One request
-- at a time may take a task as a probe. Asked again by the same request, the probe counts for as long again.
--
-- KEYS[1]  base: the tag of the partition that keeps the rest
-- ARGV[1]  queue
-- ARGV[2]  request: for which tasks are asked, and of which partition; "" asks without becoming the probe
-- ARGV[3]  lease: ms for which a probe counts
-- ARGV[4]  verb: "ask", or "return" if the request takes no task
--
-- Returns {state, wait, failures}: "open", "probe" (the request may take one task) or "resting"; for how many ms nobody may probe;
-- and how many consecutive failures there have been.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include rest

local queue, request, lease, verb = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local key = K.queue(queue)
local known = redis.call('HMGET', key, Q.rest, Q.probe, Q.failures)
local rest = rest_of(known[1])
if not rest then
  local _, failures = string.gsub(known[3] or '', '%S+', '')
  return { 'open', '0', whole(failures) }
end
local prober, left = probe_of(known[2], lease)
if verb == 'return' then
  if prober == request then redis.call('HDEL', key, Q.probe) end
  return { 'resting', '0', whole(FAILURES) }
end
-- Where the clock was set back, the shorter time is kept.
write_rest(queue, rest)
local wait = rest.next - now
if prober and prober ~= request and left > 0 then
  redis.call('HSET', key, Q.probe, whole(now + left) .. ' ' .. prober)
  wait = math.max(wait, left)
end
if prober == request and request ~= '' then wait = 0 end
if request ~= '' and wait <= 0 then
  redis.call('HSET', key, Q.probe, whole(now + lease) .. ' ' .. request)
  return { 'probe', '0', whole(FAILURES) }
end
return { 'resting', whole(math.max(1, wait)), whole(FAILURES) }
