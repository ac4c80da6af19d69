-- The figures of a queue that an estimate needs: see verbs/snapshot.ts.
--   mean, deviation  of the service time, µs; "" if there is none yet
--   forecast   see forecast.lua
--   slots      of live workers; followed by "max wait" if a slot has one call with several tasks, see Q.batch
--   ages       for how many ms some of the running tasks have been running; only read while every slot is busy
--   startable  how many may start; "" or left out for a queue that is not keyed
--   starting   without a live worker, the figures of starts, see warmup.lua; otherwise left out
local Snapshot = {}

local whole = Number.whole
local SNAPSHOT = Layout.queue.snapshot
local MAX_AGES = 16

-- Reads its fields of the queue's hash, followed by further ones; the last of its own is the limit of a keyed queue.
function Snapshot.read(call, queue, ...)
  return redis.call(
    'HMGET', K.queue(call, queue), Q.paused, Q.workers, Q.slots, Q.liveUntil, Q.service, Q.forecast, Q.breaker, Q.batch, Q.keyed, ...
  )
end

local function ages_of_some(call, leases)
  local ages = {}
  for n, id in ipairs(redis.call('ZRANDMEMBER', leases, MAX_AGES)) do
    local fence, late = Run.parts(redis.call('HGET', K.task(call, id), F.run))
    ages[n] = whole(math.max(0, call.now - (Run.begun(fence, late) or call.now)))
  end
  return ages
end

-- The snapshot from the fields that were read. startable: nil for a queue that is not keyed.
function Snapshot.with(call, queue, q, waiting, scheduled, startable)
  local paused, workers, slots, live_until, service, forecast, breaker, batch = unpack(q, 1, 8)
  local mean, deviation, samples = '', '', 0
  if service then
    local variance
    mean, variance, samples = struct.unpack(C.serviceFormat, service)
    mean, deviation = math.floor(mean * 1000 + 0.5), math.floor(math.sqrt(variance) * 1000 + 0.5)
  end
  local live = tonumber(live_until or 0) > call.now
  local leases = K.leases(call, queue)
  local running = redis.call('ZCARD', leases)
  local is_busy = live and running > 0 and running >= tonumber(slots or 0)
  -- Preallocated: a table that grows, or does not start as a list, costs a submission up to 4 % more.
  local snapshot = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
  snapshot[SNAPSHOT.queue] = queue
  snapshot[SNAPSHOT.paused] = paused or '0'
  snapshot[SNAPSHOT.breakerOpen] = breaker and '1' or '0'
  snapshot[SNAPSHOT.waiting] = waiting
  snapshot[SNAPSHOT.scheduled] = scheduled
  snapshot[SNAPSHOT.running] = running
  snapshot[SNAPSHOT.workers] = live and workers or '0'
  snapshot[SNAPSHOT.slots] = (live and slots or '0') .. (batch and ' ' .. batch or '')
  snapshot[SNAPSHOT.mean] = mean
  snapshot[SNAPSHOT.deviation] = deviation
  snapshot[SNAPSHOT.samples] = samples
  snapshot[SNAPSHOT.forecast] = forecast or ''
  snapshot[SNAPSHOT.ages] = is_busy and ages_of_some(call, leases) or {}
  local starting = not live and Warmup.of(call, queue, waiting, live_until)
  -- Redis ends a list at the first gap.
  snapshot[SNAPSHOT.startable] = startable or starting and '' or nil
  snapshot[SNAPSHOT.starting] = starting or nil
  return snapshot
end

function Snapshot.of(call, queue)
  local q = Snapshot.read(call, queue)
  local waiting, scheduled = redis.call('ZCARD', K.waiting(call, queue)), redis.call('ZCARD', K.scheduled(call, queue))
  local keyed = q[9]
  return Snapshot.with(call, queue, q, waiting, scheduled, keyed and redis.call('ZCARD', K.startable(call, queue)) or nil)
end

return Snapshot
