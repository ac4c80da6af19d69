-- The lease of a running task: its worker reports that its handler begins or goes on, hands the task back, or is lost. A task that loses
-- its lease returns to the line. Once its handler has begun, its fence stays in its record.
local Lease = {}

local whole = Number.whole
local STATE, RUN, CANCEL, LEASE, RUNNING, task_key = F.state, F.run, F.cancel, F.lease, S.running, K.task
local RENEWAL = Layout.renew.item

-- The handler of a reserved task does not begin: the start no longer counts towards the queue's rate.
function Lease.delete_start(call, queue, run)
  local fence, late = Run.parts(run)
  local at = Run.begun(fence, late)
  if at then redis.call('LREM', K.starts(call, queue), 1, whole(at)) end
end

-- Puts it back at its place; the attempt does not count.
--   new_run  see Run; nil if its handler has never begun
local function put_back(call, queue, id, key, new_run, place, of_key, group)
  redis.call('HDEL', key, F.progress, F.unbegun, F.apart, F.holds)
  if new_run then redis.call('HSET', key, F.run, new_run) else redis.call('HDEL', key, F.run) end
  redis.call('HSET', key, F.state, S.waiting)
  Line.put_back(call, queue, id, place, of_key)
  if group then Group.note(call, group, id) end
  Notices.change(call, id, S.waiting)
end

-- Hands back a running task whose handler has not begun under this lease: all is as if it had not been taken.
-- Returns "released", or "canceled" if its cancel was requested.
function Lease.undo_reservation(call, queue, id, retention)
  local key = K.task(call, id)
  local cancel, run, of_key, group, restarts =
    unpack(redis.call('HMGET', key, F.cancel, F.run, F.key, F.group, F.restarts))
  local fence, _, attempts, place = Run.parts(run)
  local has_begun_before = attempts ~= '1' or restarts
  Total.free(call, queue, id)
  Lease.delete_start(call, queue, run)
  put_back(call, queue, id, key, has_begun_before and Run.handed_back(fence, attempts) or nil, place, of_key, group)
  if cancel then return Settle.cancel(call, id, S.waiting, queue, cancel, retention) end
  Notices.work_at_end(call, queue)
  return 'released'
end

-- Hands a running task back: it waits again at its old place, and the attempt does not count.
-- Returns "released", or "canceled" if its cancel was requested.
function Lease.release(call, queue, id, retention)
  local key = K.task(call, id)
  local cancel, run, of_key, group = unpack(redis.call('HMGET', key, F.cancel, F.run, F.key, F.group))
  local fence, _, attempts, place = Run.parts(run)
  Total.free(call, queue, id)
  Rate.count(call, queue, R.returned, 1)
  if cancel then
    Settle.finish(call, id, S.canceled, retention)
    return 'canceled'
  end
  Attempt.note_past(call, id, run, 'released')
  redis.call('HINCRBY', key, F.restarts, 1)
  put_back(call, queue, id, key, Run.handed_back(fence, attempts), place, of_key, group)
  Notices.work_at_end(call, queue)
  return 'released'
end

-- After this many uncounted losses in a row, the death of a worker counts even if the handler runs in a child process.
local MAX_UNCOUNTED = 3

-- A running task has lost its worker. Losses are counted apart from attempts; one too many ends the task. A loss is a process that died
-- while the handler ran in it: if the worker has not reported the begin yet, nothing is counted; nor if the task was taken ahead, and it is
-- unknown whether it had begun: from then on its worker reports that; nor if the worker died while the handler ran in a child process: a
-- task that kills its process leaves the worker alive, which reports it.
--   ends      how its queue ends tasks: maxLost, problem, keepMs, tombstoneMs and deadMs of an item of `lose`
--   cap       maximum number of dead tasks kept
--   reported  whether the worker lives and reports that the process of the handler died
-- Returns its outcome ("waiting", "released" if nothing was counted, "dead", "canceled") and its losses.
function Lease.lose(call, queue, id, ends, cap, reported)
  local key = K.task(call, id)
  local cancel, run, lost, unbegun, restarts, noted, of_key, apart, releases, group = unpack(redis.call(
    'HMGET', key, F.cancel, F.run, F.lost, F.unbegun, F.restarts, F.place, F.key, F.apart, F.uncountedLosses, F.group
  ))
  local fence, late, attempts, place = Run.readable_parts(call, run, noted)
  local losses, begun = tonumber(lost or 0), not (unbegun and unbegun == fence)
  local known = not Run.is_ahead(late) and (apart ~= fence or tonumber(releases or 0) >= MAX_UNCOUNTED)
  local counts = begun and (reported or known)
  Total.free(call, queue, id)
  if begun then
    redis.call('HSET', key, F.restarts, (restarts or 0) + 1)
  else
    Lease.delete_start(call, queue, run)
  end
  if counts then
    losses = losses + 1
    redis.call('HSET', key, F.lost, whole(losses), F.extra, '1')
    redis.call('HDEL', key, F.uncountedLosses)
    Rate.count(call, queue, Q.lost, 1)
  else
    redis.call('HINCRBY', key, F.uncountedLosses, 1)
    redis.call('HSET', key, F.extra, '1')
  end
  if cancel then
    Rate.count(call, queue, R.returned, 1)
    Settle.finish(call, id, S.canceled, Result.retention(call, ends.keepMs, ends.tombstoneMs))
    return 'canceled', losses
  end
  if counts and losses > ends.maxLost then
    Attempt.note_error(call, id, 'the worker was lost ' .. losses .. ' times')
    redis.call('HSET', key, F.errorCode, 'worker-lost')
    Settle.bury(call, queue, id, ends.problem, Result.retention(call, ends.deadMs, ends.tombstoneMs), cap)
    Rate.count(call, queue, R.finished, 1)
    Rate.count(call, queue, R.failed, 1)
    return 'dead', losses
  end
  Rate.count(call, queue, R.returned, 1)
  Attempt.note_past(call, id, run, counts and 'lost' or 'released')
  put_back(call, queue, id, key, Run.handed_back(fence, attempts), place, of_key, group)
  return counts and 'waiting' or 'released', losses
end

local function begin(call, item)
  local id, fence, apart = item.id, item.fence, item.apart
  local key = K.task(call, id)
  local state, run, cancel, unbegun, group = unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.unbegun, F.group))
  local held_under, reserved, attempts, place, of_worker = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return 'stale' end
  if cancel then return Deadlines.reason(cancel, 'cancel') end
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
  return (cancel and Deadlines.reason(cancel, 'cancel') or 'ok') .. ' ' .. lease
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
  return end_of(call, item.queue, item.id, Result.retention(call, item.keepMs, item.tombstoneMs)), true
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
  local outcome = Lease.lose(call, item.queue, item.id, item, cap, true)
  if outcome == 'waiting' or outcome == 'released' then Notices.work_at_end(call, item.queue) end
  return outcome, true
end

-- Reports tasks whose process died under them while the worker lives: the losses count at once, not when the lease ends. Returns a verdict
-- of each: "waiting", "released" (its handler had not begun: no loss is counted), "dead", "canceled", "stale". A repetition for the same
-- attempt gets the same answer.
register('lose', { 'allow-oom' }, function(call, asked)
  local verdicts = Call.each_once(call, A.lose, asked.items, lose, asked.deadCap or C.deadCap)
  Settle.close(call)
  return verdicts
end)

return Lease
