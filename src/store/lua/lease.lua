-- How a running task returns to the line: handed back by its worker, or after its worker was lost. Once its handler has begun, its fence
-- stays in its record.
local Lease = {}

local whole = Number.whole

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
function Lease.undo_reservation(call, queue, id, stay)
  local key = K.task(call, id)
  local cancel, run, of_key, group, restarts =
    unpack(redis.call('HMGET', key, F.cancel, F.run, F.key, F.group, F.restarts))
  local fence, _, attempts, place = Run.parts(run)
  local has_begun_before = attempts ~= '1' or restarts
  redis.call('ZREM', K.leases(call, queue), id)
  Lease.delete_start(call, queue, run)
  put_back(call, queue, id, key, has_begun_before and Run.handed_back(fence, attempts) or nil, place, of_key, group)
  if cancel then return Settle.cancel(call, id, S.waiting, queue, cancel, stay) end
  Notices.work_at_end(call, queue)
  return 'released'
end

-- Hands a running task back: it waits again at its old place, and the attempt does not count.
-- Returns "released", or "canceled" if its cancel was requested.
function Lease.release(call, queue, id, stay)
  local key = K.task(call, id)
  local cancel, run, of_key, group = unpack(redis.call('HMGET', key, F.cancel, F.run, F.key, F.group))
  local fence, _, attempts, place = Run.parts(run)
  redis.call('ZREM', K.leases(call, queue), id)
  Rate.count(call, queue, R.returned, 1)
  if cancel then
    Settle.finish(call, id, S.canceled, stay)
    return 'canceled'
  end
  Past.note(call, id, run, 'released')
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
-- Returns its fate ("waiting", "released" if nothing was counted, "dead", "canceled") and its losses.
function Lease.lose(call, queue, id, ends, cap, reported)
  local key = K.task(call, id)
  local cancel, run, lost, unbegun, restarts, noted, of_key, apart, releases, group = unpack(redis.call(
    'HMGET', key, F.cancel, F.run, F.lost, F.unbegun, F.restarts, F.place, F.key, F.apart, F.uncountedLosses, F.group
  ))
  local fence, late, attempts, place = Run.readable_parts(call, run, noted)
  local losses, begun = tonumber(lost or 0), not (unbegun and unbegun == fence)
  local known = not Run.is_ahead(late) and (apart ~= fence or tonumber(releases or 0) >= MAX_UNCOUNTED)
  local counts = begun and (reported or known)
  redis.call('ZREM', K.leases(call, queue), id)
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
    Settle.finish(call, id, S.canceled, Result.stay(call, ends.keepMs, ends.tombstoneMs))
    return 'canceled', losses
  end
  if counts and losses > ends.maxLost then
    Past.note_error(call, id, 'the worker was lost ' .. losses .. ' times')
    redis.call('HSET', key, F.errorCode, 'worker-lost')
    Settle.bury(call, queue, id, ends.problem, Result.stay(call, ends.deadMs, ends.tombstoneMs), cap)
    Rate.count(call, queue, R.finished, 1)
    Rate.count(call, queue, R.failed, 1)
    return 'dead', losses
  end
  Rate.count(call, queue, R.returned, 1)
  Past.note(call, id, run, counts and 'lost' or 'released')
  put_back(call, queue, id, key, Run.handed_back(fence, attempts), place, of_key, group)
  return counts and 'waiting' or 'released', losses
end

return Lease
