-- What a caller needs to know of a queue to estimate its turn, as
-- {queue, waiting, scheduled, running, paused, workers, slots, mean, deviation, samples, forecast, ages, resting}, and of a keyed
-- queue one more: how many may start.
--   mean, deviation  of the service time, µs; "" if there is none yet
--   forecast  see lib/forecast.lua
--   ages      for how many ms some of the running tasks have been running; only read while every slot is busy
local AGES, SERVICE = 16, C.serviceFormat

-- Reads what it needs of the queue's hash, with further fields behind that.
local function read_figures(queue, ...)
  return redis.call(
    'HMGET', K.queue(queue), Q.paused, Q.workers, Q.slots, Q.liveUntil, Q.service, Q.forecast, Q.rest, Q.keyed, ...
  )
end

-- The same from what has been read. startable: nil of a queue that is not keyed.
local function snapshot_with(queue, q, waiting, scheduled, startable)
  local mean, deviation, samples = '', '', 0
  if q[5] then
    local variance
    mean, variance, samples = struct.unpack(SERVICE, q[5])
    mean, deviation = floor(mean * 1000 + 0.5), floor(math.sqrt(variance) * 1000 + 0.5)
  end
  local live = tonumber(q[4] or 0) > now
  local leases = K.leases(queue)
  local running = redis.call('ZCARD', leases)
  local ages = {}
  if live and running > 0 and running >= tonumber(q[3] or 0) then
    for n, id in ipairs(redis.call('ZRANDMEMBER', leases, AGES)) do
      local fence, late = run_of(redis.call('HGET', K.task(id), F.run))
      ages[n] = whole(math.max(0, now - (begun_of(fence, late) or now)))
    end
  end
  return {
    queue,
    waiting,
    scheduled,
    running,
    q[1] or '0',
    live and q[2] or '0',
    live and q[3] or '0',
    mean,
    deviation,
    samples,
    q[6] or '',
    ages,
    q[7] and '1' or '0',
    startable,
  }
end

local function snapshot_of(queue)
  local q = read_figures(queue)
  local waiting, scheduled = redis.call('ZCARD', K.waiting(queue)), redis.call('ZCARD', K.scheduled(queue))
  return snapshot_with(queue, q, waiting, scheduled, q[8] and redis.call('ZCARD', K.startable(queue)) or nil)
end
