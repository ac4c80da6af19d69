-- Cancels a task that has not ended: at once, or, while it runs, by a flag that its worker is told of. The first reason stays.
-- Needs clock, follow, notify, settle and share.
--   by  C.cancelByCaller or C.cancelByDeadline
-- Returns "canceled" or "requested".
local function cancel_pending(id, state, queue, by, keep, tombstone)
  local key = K.task(id)
  redis.call('HSETNX', key, F.cancel, by)
  if state == S.running then
    local first = redis.call('HGET', key, F.cancel)
    redis.call('HSET', key, F.extra, '1')
    redis.call('PUBLISH', K.work(queue), (first == C.cancelByDeadline and 'deadline ' or 'cancel ') .. id)
    notify(id, N.cancelRequested)
    return 'requested'
  end
  redis.call('ZREM', base .. (state == S.waiting and P.waiting or P.scheduled) .. queue, id)
  if state == S.waiting then leave_fair(queue, id) end
  settle(id, S.canceled, keep, tombstone)
  return 'canceled'
end
