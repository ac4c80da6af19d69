-- The circuit breaker of a queue whose target is down, in the partition that keeps it: see breaker.lua. After a number of consecutive
-- failures it opens and the queue rests, until a probe succeeds.

local whole = Number.whole
local QUESTION, GATE, REPORT = Layout.gate.args, Layout.gate.answer, Layout.target.args

local function gate_of(state, wait, failures)
  return { [GATE.state] = state, [GATE.waitMs] = wait, [GATE.failures] = failures }
end

-- Asks whether work may be taken. One request at a time may take a task as a probe. A repetition by the same request renews the probe.
-- Returns the state: "open" (to requests: work may be taken), "probe" (the request may take one task) or "resting"; for how
-- many ms nobody may probe; and how many consecutive failures there have been.
register('gate', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local queue, request, lease = args[QUESTION.queue], args[QUESTION.request], tonumber(args[QUESTION.leaseMs])
  local key, failures_text = K.queue(call, queue), whole(C.restFailures)
  local stored_rest, stored_probe, failures = unpack(redis.call('HMGET', key, Q.rest, Q.probe, Q.failures))
  local rest = Breaker.rest(call, stored_rest)
  if not rest then
    local _, count = string.gsub(failures or '', '%S+', '')
    return gate_of('open', '0', whole(count))
  end
  local prober, left = Breaker.probe(call, stored_probe, lease)
  if args[QUESTION.verb] == 'return' then
    if prober == request then redis.call('HDEL', key, Q.probe) end
    return gate_of('resting', '0', failures_text)
  end
  -- If the clock was set back, the shorter time is kept.
  Breaker.write(call, queue, rest)
  local wait = rest.next - call.now
  if prober and prober ~= request and left > 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + left) .. ' ' .. prober)
    wait = math.max(wait, left)
  end
  if prober == request and request ~= '' then wait = 0 end
  if request ~= '' and wait <= 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + lease) .. ' ' .. request)
    return gate_of('probe', '0', failures_text)
  end
  return gate_of('resting', whole(math.max(1, wait)), failures_text)
end)

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

-- Records what an attempt has shown about the target: it is up, down (it cannot be reached or says so), or unclear (no answer, which is a
-- failure only for a probe). Returns "open", "began" (the queue rests from now on), "resting" or "ended". A repetition for the same attempt
-- gets the same answer.
register('target', { 'allow-oom' }, function(keys, args)
  local call, queue, reference = Call.new(keys), args[REPORT.queue], args[REPORT.reference]
  local state, reason, request = args[REPORT.state], args[REPORT.reason], args[REPORT.request]
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
