-- The circuit breaker of a queue whose target is down: see breaker.lua. After a number of consecutive
-- failures it opens, until a probe succeeds.

local whole = Number.whole
local QUESTION, STATE, REPORT = Layout.breaker.args, Layout.breaker.answer, Layout.breakerReport.args

local function state_of(state, wait, failures)
  return { [STATE.state] = state, [STATE.waitMs] = wait, [STATE.failures] = failures }
end

-- Asks whether work may be taken. One request at a time may take a task as a probe. A repetition by the same request renews the probe.
-- Returns the state: "closed" (work may be taken), "half-open" (the request may take one task) or "open"; for how
-- many ms no probe may start; and how many consecutive failures there have been.
register('breaker', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local queue, request, lease = args[QUESTION.queue], args[QUESTION.request], tonumber(args[QUESTION.leaseMs])
  local key, failures_text = K.queue(call, queue), whole(C.breakerFailures)
  local stored_breaker, stored_probe, failures = unpack(redis.call('HMGET', key, Q.breaker, Q.probe, Q.failures))
  local breaker = Breaker.read(call, stored_breaker)
  if not breaker then
    local _, count = string.gsub(failures or '', '%S+', '')
    return state_of('closed', '0', whole(count))
  end
  local prober, left = Breaker.probe(call, stored_probe, lease)
  if args[QUESTION.verb] == 'return' then
    if prober == request then redis.call('HDEL', key, Q.probe) end
    return state_of('open', '0', failures_text)
  end
  -- If the clock was set back, the shorter time is kept.
  Breaker.write(call, queue, breaker)
  local wait = breaker.next - call.now
  if prober and prober ~= request and left > 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + left) .. ' ' .. prober)
    wait = math.max(wait, left)
  end
  if prober == request and request ~= '' then wait = 0 end
  if request ~= '' and wait <= 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + lease) .. ' ' .. request)
    return state_of('half-open', '0', failures_text)
  end
  return state_of('open', whole(math.max(1, wait)), failures_text)
end)

-- A probe has shown whether the target is up.
local function end_probe(call, queue, breaker, reference, state, reason)
  local key = K.queue(call, queue)
  if state == 'up' then
    redis.call('HDEL', key, Q.breaker, Q.probe, Q.failures)
    redis.call('HSET', key, Q.breakerClosed, reference)
    Notices.work(call, queue)
    return
  end
  breaker.probes = breaker.probes + 1
  breaker.next = call.now + Breaker.interval(breaker.probes)
  if state == 'down' then breaker.reason = reason end
  Breaker.write(call, queue, breaker)
  redis.call('HDEL', key, Q.probe)
end

-- Records what an attempt has shown about the target: it is up, down (it cannot be reached or says so), or unclear (no answer, which is a
-- failure only for a probe). Returns "closed", "opened" (by this failure), "open" or "recovered" (closed by this probe). A repetition for
-- the same attempt gets the same answer.
register('breakerReport', { 'allow-oom' }, function(keys, args)
  local call, queue, reference = Call.new(keys), args[REPORT.queue], args[REPORT.reference]
  local state, reason, request = args[REPORT.state], args[REPORT.reason], args[REPORT.request]
  local key = K.queue(call, queue)
  local stored_breaker, stored_probe, stored_failures, closed_by =
    unpack(redis.call('HMGET', key, Q.breaker, Q.probe, Q.failures, Q.breakerClosed))
  local breaker, failures = Breaker.read(call, stored_breaker), {}
  for one in string.gmatch(stored_failures or '', '%S+') do failures[#failures + 1] = one end

  if breaker then
    if request ~= '' and Breaker.probe(call, stored_probe, 0) == request then
      end_probe(call, queue, breaker, reference, state, reason)
      if state == 'up' then return 'recovered' end
    end
    return failures[C.breakerFailures] == reference and 'opened' or 'open'
  end
  if closed_by == reference then return 'recovered' end
  if state == 'up' then
    redis.call('HDEL', key, Q.failures)
  elseif state == 'down' then
    for _, one in ipairs(failures) do
      if one == reference then return 'closed' end
    end
    failures[#failures + 1] = reference
    redis.call('HSET', key, Q.failures, table.concat(failures, ' '))
    if #failures >= C.breakerFailures then
      local first_probe = call.now + Breaker.interval(0)
      Breaker.write(call, queue, { since = call.now, next = first_probe, probes = 0, reason = reason })
      return 'opened'
    end
  end
  return 'closed'
end)
