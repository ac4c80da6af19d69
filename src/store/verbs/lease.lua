-- Reports of a worker about its leases: a handler begins, goes on, its task is handed back, its process died.

local whole = Number.whole
local STATE, RUN, CANCEL, LEASE, RUNNING, task_key = F.state, F.run, F.cancel, F.lease, S.running, K.task
local RENEWAL = Layout.renew.item

local function begin(call, item)
  local id, fence, apart = item.id, item.fence, item.apart
  local key = K.task(call, id)
  local state, run, cancel, unbegun, group = unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.unbegun, F.group))
  local held_under, reserved, attempts, place, of_worker = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return 'stale' end
  if cancel then return Due.reason(cancel, 'cancel') end
  if apart then redis.call('HSET', key, F.apart, fence, F.extra, '1') end
  if unbegun or Run.is_ahead(reserved) then
    local late = whole(call.now - Run.time_of_fence(fence))
    redis.call('HDEL', key, F.unbegun)
    -- In a child process it may still lose its worker without a loss being counted, but not forever.
    if not apart then redis.call('HDEL', key, F.uncountedLosses) end
    redis.call('HSET', key, F.run, Run.text(fence, late, attempts, place, of_worker))
    -- A group knows since when its members run.
    if group then Group.note(call, group, id) end
  end
  redis.call('ZADD', K.leases(call, item.queue), whole(call.now + item.leaseMs), id)
  return 'ok'
end

-- Records that handlers begin, for tasks that have lost a worker before, if the worker said at the reservation that it would report this.
-- An earlier loss does not count, nor that of the worker of a child process (`apart`), see Lease.lose. Returns a verdict for each: "ok",
-- "cancel", "deadline" or "abandoned" (it must not begin: the task must be given up), "stale" (it no longer belongs to the worker).
register('begin', { 'allow-oom' }, function(call, asked)
  return Call.each(call, asked.items, begin)
end)

local function renew(call, args, at)
  local id, lease = args[at + RENEWAL.id], args[at + RENEWAL.leaseMs]
  local state, run, cancel, taken_for = unpack(redis.call('HMGET', task_key(call, id), STATE, RUN, CANCEL, LEASE))
  if state ~= RUNNING or not run or string.find(run, args[at + RENEWAL.fence] .. ' ', 1, true) ~= 1 then return 'stale' end
  if args[at + RENEWAL.asTaken] == '1' then lease = taken_for or lease end
  redis.call('ZADD', K.leases(call, args[at + RENEWAL.queue]), whole(call.now + tonumber(lease)), id)
  -- Workers renew the leases of handlers that have begun.
  local known, ahead = string.gsub(run, '^(%d+) %+', '%1 ')
  if ahead == 1 then redis.call('HSET', task_key(call, id), RUN, known) end
  return (cancel and Due.reason(cancel, 'cancel') or 'ok') .. ' ' .. lease
end

-- Prolongs leases. Returns a verdict of each, a space and the lease in ms: "ok", or "cancel", "deadline" or "abandoned" (prolonged, but the
-- task must be given up, and why); or "stale" alone (it no longer belongs to the worker).
register_hot('renew', { 'allow-oom' }, function(keys, args)
  return Call.each_by_place(Call.new(keys), args, Layout.renew, renew)
end)

local function release(call, key, item)
  local state, run = unpack(redis.call('HMGET', key, F.state, F.run))
  if not Run.is_held(state, run, item.fence) then return 'stale' end
  local end_of = item.unbegun and Lease.undo_reservation or Lease.release
  return end_of(call, item.queue, item.id, Result.stay(call, item.keepMs, item.tombstoneMs)), true
end

-- Hands tasks back: each waits again at its old place, and the attempt does not count. Returns a verdict of each: "released", "canceled"
-- (cancel was requested), "stale". A repetition for the same attempt gets the same answer. If the handler has not
-- begun, all is as if the task had not been taken.
register('release', { 'allow-oom' }, function(call, asked)
  local verdicts = Call.each_once(call, A.release, asked.items, release)
  Settle.close(call)
  return verdicts
end)

local function lose(call, key, item, cap)
  local state, run = unpack(redis.call('HMGET', key, F.state, F.run))
  if not Run.is_held(state, run, item.fence) then return 'stale' end
  local fate = Lease.lose(call, item.queue, item.id, item, cap, true)
  if fate == 'waiting' or fate == 'released' then Notices.work_at_end(call, item.queue) end
  return fate, true
end

-- Reports tasks whose process died under them while the worker lives: the losses count at once, not when the lease ends. Returns a verdict
-- of each: "waiting", "released" (its handler had not begun: no loss is counted), "dead", "canceled", "stale". A repetition for the same
-- attempt gets the same answer.
register('lose', { 'allow-oom' }, function(call, asked)
  local verdicts = Call.each_once(call, A.lose, asked.items, lose, asked.deadCap or C.deadCap)
  Settle.close(call)
  return verdicts
end)
