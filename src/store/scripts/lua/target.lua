-- Notes what an attempt has shown about the target of a queue, in the partition that keeps its rest: after a number of consecutive
-- failures the queue rests, until a probe succeeds.
--
-- KEYS[1]  base: the tag of the partition that keeps the rest
-- ARGV[1]  queue
-- ARGV[2]  reference: of the attempt, unique in the queue
-- ARGV[3]  state: "up", "down" (it cannot be reached or says so), or "unclear" (no answer; only a probe has failed by that)
-- ARGV[4]  reason: why it counts as down
-- ARGV[5]  request: the one that took the task as a probe, "" if it is none
--
-- Returns "open", "began" (the queue rests from now on), "resting" or "ended". The same attempt noted again is answered the same.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include rest

local queue, reference, state, reason, request = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local key = K.queue(queue)
local known = redis.call('HMGET', key, Q.rest, Q.probe, Q.failures, Q.restEnded)
local rest, failures = rest_of(known[1]), {}
for one in string.gmatch(known[3] or '', '%S+') do failures[#failures + 1] = one end

if rest then
  local prober = probe_of(known[2], 0)
  if request ~= '' and prober == request then
    if state == 'up' then
      redis.call('HDEL', key, Q.rest, Q.probe, Q.failures)
      redis.call('HSET', key, Q.restEnded, reference)
      redis.call('PUBLISH', K.work(queue), '')
      return 'ended'
    end
    rest.probes = rest.probes + 1
    rest.next = now + probe_interval(rest.probes)
    if state == 'down' then rest.reason = reason end
    write_rest(queue, rest)
    redis.call('HDEL', key, Q.probe)
  end
  return failures[FAILURES] == reference and 'began' or 'resting'
end
if known[4] == reference then return 'ended' end
if state == 'up' then
  redis.call('HDEL', key, Q.failures)
elseif state == 'down' then
  for _, one in ipairs(failures) do
    if one == reference then return 'open' end
  end
  failures[#failures + 1] = reference
  redis.call('HSET', key, Q.failures, table.concat(failures, ' '))
  if #failures >= FAILURES then
    write_rest(queue, { since = now, next = now + probe_interval(0), probes = 0, reason = reason })
    return 'began'
  end
end
return 'open'
