-- What a caller needs to know of a queue to estimate its turn, as
-- {queue, waiting, scheduled, running, paused, workers, slots, mean, variance, samples, forecast (see lib/service.lua), ages, resting},
-- and of a keyed queue how many may start:
-- for how many ms some of the running tasks have been running, which matters only while every slot is busy.
local AGES = 16
local function snapshot_of(queue)
  local q = redis.call(
    'HMGET', K.queue(queue), Q.paused, Q.workers, Q.slots, Q.liveUntil, Q.mean, Q.variance, Q.samples, Q.forecast,
    Q.rest, Q.keyed
  )
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
    redis.call('ZCARD', K.waiting(queue)),
    redis.call('ZCARD', K.scheduled(queue)),
    running,
    q[1] or '0',
    live and q[2] or '0',
    live and q[3] or '0',
    q[5] or '',
    q[6] or '',
    q[7] or '0',
    q[8] or '',
    ages,
    q[9] and '1' or '0',
    q[10] and redis.call('ZCARD', K.startable(queue)) or nil,
  }
end
