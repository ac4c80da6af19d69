-- Asks whether work may be taken from a queue whose circuit breaker is open, in the partition that keeps it. One request at a time may
-- take a task as a probe. Asked again by the same request, the probe counts for as long again.
--
-- keys[1]  the tag of the partition that keeps the breaker
-- args[1]  queue
-- args[2]  request: for which tasks are asked, and of which partition; "" asks without becoming the probe
-- args[3]  lease: ms for which a probe counts
-- args[4]  verb: "ask", or "return" if the request takes no task
--
-- Returns {state, wait, failures}: "open" (to requests: work may be taken), "probe" (the request may take one task) or "resting"; for how
-- many ms nobody may probe; and how many consecutive failures there have been.

local whole = Number.whole

register('gate', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local queue, request, lease, verb = args[1], args[2], tonumber(args[3]), args[4]
  local key, failures_text = K.queue(call, queue), whole(C.restFailures)
  local stored_rest, stored_probe, failures = unpack(redis.call('HMGET', key, Q.rest, Q.probe, Q.failures))
  local rest = Breaker.rest(call, stored_rest)
  if not rest then
    local _, count = string.gsub(failures or '', '%S+', '')
    return { 'open', '0', whole(count) }
  end
  local prober, left = Breaker.probe(call, stored_probe, lease)
  if verb == 'return' then
    if prober == request then redis.call('HDEL', key, Q.probe) end
    return { 'resting', '0', failures_text }
  end
  -- Where the clock was set back, the shorter time is kept.
  Breaker.write(call, queue, rest)
  local wait = rest.next - call.now
  if prober and prober ~= request and left > 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + left) .. ' ' .. prober)
    wait = math.max(wait, left)
  end
  if prober == request and request ~= '' then wait = 0 end
  if request ~= '' and wait <= 0 then
    redis.call('HSET', key, Q.probe, whole(call.now + lease) .. ' ' .. request)
    return { 'probe', '0', failures_text }
  end
  return { 'resting', whole(math.max(1, wait)), failures_text }
end)
