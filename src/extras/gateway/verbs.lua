-- The circuit breaker of a queue whose target is down: after a number of consecutive failures it opens, and no work is taken until a probe
-- succeeds. It is open while the queue has Q.rest, "since next probes reason": when it opened, when a probe may start, how many have failed.

local whole = Number.whole

-- The time between two probes; doubles with each failed probe.
local function interval(probes)
  return math.min(C.longestProbeMs, C.firstProbeMs * 2 ^ math.min(probes, 30))
end

local function write(call, queue, breaker)
  local text = whole(breaker.since) .. ' ' .. whole(breaker.next) .. ' ' .. breaker.probes .. ' ' .. breaker.reason
  redis.call('HSET', K.queue(call, queue), Q.rest, text)
end

-- Reads Q.rest; nil if it is closed. A time in the future is from before the clock was set back, and counts from now on.
local function read(call, text)
  local since, next_probe, probes, reason = string.match(text or '', '^(%d+) (%d+) (%d+) (.*)$')
  if not since then return nil end
  local breaker = { since = math.min(tonumber(since), call.now), probes = tonumber(probes), reason = reason }
  breaker.next = math.min(tonumber(next_probe), call.now + interval(breaker.probes))
  return breaker
end

-- Reads Q.probe: who probes (nil if nobody), and for how long that still counts, ms.
local function probe_of(call, text, longest)
  local until_when, request = string.match(text or '', '^(%d+) (.*)$')
  if not until_when then return nil, 0 end
  return request, math.min(tonumber(until_when) - call.now, longest)
end

local function state_of(state, wait, failures)
  return { state = state, waitMs = wait, failures = failures }
end

-- Asks whether work may be taken. One request at a time may take a task as a probe. A repetition by the same request renews the probe.
-- Returns the state: "closed" (work may be taken), "half-open" (the request may take one task) or "open"; for how
-- many ms no probe may start; and how many consecutive failures there have been.
register('breaker', { 'allow-oom' }, function(call, asked)
  local queue, request, lease = asked.queue, asked.request, asked.leaseMs
  local key = K.queue(call, queue)
  local stored_breaker, stored_probe, failures = unpack(redis.call('HMGET', key, Q.rest, Q.probe, Q.failures))
  local breaker = read(call, stored_breaker)
  if not breaker then
    local _, count = string.gsub(failures or '', '%S+', '')
    return state_of('closed', 0, count)
  end
  local prober, left = probe_of(call, stored_probe, lease)
  if asked.verb == 'return' then
    if prober == request then redis.call('HDEL', key, Q.probe) end
    return state_of('open', 0, C.breakerFailures)
  end
  -- If the clock was set back, the shorter time is kept.
  write(call, queue, breaker)
  local wait = breaker.next - call.now
  if prober and prober ~= request and left > 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + left) .. ' ' .. prober)
    wait = math.max(wait, left)
  end
  if prober == request and request ~= '' then wait = 0 end
  if request ~= '' and wait <= 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + lease) .. ' ' .. request)
    return state_of('half-open', 0, C.breakerFailures)
  end
  return state_of('open', math.max(1, wait), C.breakerFailures)
end)

-- A probe has shown whether the target is up.
local function end_probe(call, queue, breaker, reference, state, reason)
  local key = K.queue(call, queue)
  if state == 'up' then
    redis.call('HDEL', key, Q.rest, Q.probe, Q.failures)
    redis.call('HSET', key, Q.breakerClosed, reference)
    Notices.work(call, queue)
    Total.note(call, queue)
    return
  end
  breaker.probes = breaker.probes + 1
  breaker.next = call.now + interval(breaker.probes)
  if state == 'down' then breaker.reason = reason end
  write(call, queue, breaker)
  redis.call('HDEL', key, Q.probe)
end

-- Records what an attempt has shown about the target: it is up, down (it cannot be reached or says so), or unclear (no answer, which is a
-- failure only for a probe). Returns "closed", "opened" (by this failure), "open" or "recovered" (closed by this probe). A repetition for
-- the same attempt gets the same answer.
register('breakerReport', { 'allow-oom' }, function(call, asked)
  local queue, reference, state, reason, request = asked.queue, asked.reference, asked.state, asked.reason, asked.request
  local key = K.queue(call, queue)
  local stored_breaker, stored_probe, stored_failures, closed_by =
    unpack(redis.call('HMGET', key, Q.rest, Q.probe, Q.failures, Q.breakerClosed))
  local breaker, failures = read(call, stored_breaker), {}
  for one in string.gmatch(stored_failures or '', '%S+') do failures[#failures + 1] = one end

  if breaker then
    -- Turns that had begun before it opened are probes only if they succeed: their failures come before the time of a probe.
    local is_turn_probe = asked.turn and (state == 'up' or call.now >= breaker.next)
    if is_turn_probe or request ~= '' and probe_of(call, stored_probe, 0) == request then
      end_probe(call, queue, breaker, reference, state, reason)
      if state == 'up' then
        Settle.close(call)
        return 'recovered'
      end
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
      local first_probe = call.now + interval(0)
      write(call, queue, { since = call.now, next = first_probe, probes = 0, reason = reason })
      return 'opened'
    end
  end
  return 'closed'
end)
