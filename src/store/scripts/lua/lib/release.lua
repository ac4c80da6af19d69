-- Hands a running task back: it waits again at its old place, and the attempt does not count. Needs clock, follow and settle.
--   t  its fields {cancel requested, place, webhook, undo}
-- Returns "released", or "canceled" where its cancel was requested.
local function release(queue, id, t, keep, tombstone)
  local key = K.task(id)
  redis.call('ZREM', K.leases(queue), id)
  if t[1] then
    settle(id, S.canceled, nil, keep, tombstone, t[3], t[4])
    return 'canceled'
  end
  redis.call('HDEL', key, F.worker, F.progress, F.place, F.begun, F.unbegun)
  redis.call('HSET', key, F.state, S.waiting)
  redis.call('HINCRBY', key, F.attempts, -1)
  redis.call('ZADD', K.waiting(queue), t[2], id)
  redis.call('PUBLISH', K.changes(id), S.waiting)
  redis.call('PUBLISH', K.work(queue), '')
  return 'released'
end
