-- Notes what an attempt has shown about the target of a queue, in the partition that keeps its circuit breaker: after a number of
-- consecutive failures it opens and the queue rests, until a probe succeeds.
--
-- keys[1]  the tag of the partition that keeps the breaker
-- args[1]  queue
-- args[2]  reference: of the attempt, unique in the queue
-- args[3]  state: "up", "down" (it cannot be reached or says so), or "unclear" (no answer; only a probe has failed by that)
-- args[4]  reason: why it counts as down
-- args[5]  request: the one that took the task as a probe, "" if it is none
--
-- Returns "open", "began" (the queue rests from now on), "resting" or "ended". The same attempt noted again is answered the same.

-- A probe has shown whether the target is up.
local function end_probe(call, queue, rest, reference, state, reason)
  local key = K.queue(call, queue)
  if state == 'up' then
    redis.call('HDEL', key, Q.rest, Q.probe, Q.failures)
    redis.call('HSET', key, Q.restEnded, reference)
    Notices.work(call, queue)
    return
  end
  rest.probes = rest.probes + 1
  rest.next = call.now + Breaker.interval(rest.probes)
  if state == 'down' then rest.reason = reason end
  Breaker.write(call, queue, rest)
  redis.call('HDEL', key, Q.probe)
end

register('target', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local queue, reference, state, reason, request = unpack(args, 1, 5)
  local key = K.queue(call, queue)
  local stored_rest, stored_probe, stored_failures, rest_ended =
    unpack(redis.call('HMGET', key, Q.rest, Q.probe, Q.failures, Q.restEnded))
  local rest, failures = Breaker.rest(call, stored_rest), {}
  for one in string.gmatch(stored_failures or '', '%S+') do failures[#failures + 1] = one end

  if rest then
    if request ~= '' and Breaker.probe(call, stored_probe, 0) == request then
      end_probe(call, queue, rest, reference, state, reason)
      if state == 'up' then return 'ended' end
    end
    return failures[C.restFailures] == reference and 'began' or 'resting'
  end
  if rest_ended == reference then return 'ended' end
  if state == 'up' then
    redis.call('HDEL', key, Q.failures)
  elseif state == 'down' then
    for _, one in ipairs(failures) do
      if one == reference then return 'open' end
    end
    failures[#failures + 1] = reference
    redis.call('HSET', key, Q.failures, table.concat(failures, ' '))
    if #failures >= C.restFailures then
      local first_probe = call.now + Breaker.interval(0)
      Breaker.write(call, queue, { since = call.now, next = first_probe, probes = 0, reason = reason })
      return 'began'
    end
  end
  return 'open'
end)
