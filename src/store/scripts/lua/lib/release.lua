-- Hands a running task back: it waits again at its old place, and the attempt does not count. Needs clock, follow and settle.
-- Returns "released", or "canceled" where its cancel was requested.
local function release(queue, id, keep, tombstone)
  local key = K.task(id)
  local cancel, run = unpack(redis.call('HMGET', key, F.cancel, F.run))
  local fence, _, attempts, place = run_of(run)
  redis.call('ZREM', K.leases(queue), id)
  if cancel then
    settle(id, S.canceled, keep, tombstone)
    return 'canceled'
  end
  redis.call('HDEL', key, F.progress, F.unbegun)
  redis.call('HSET', key, F.state, S.waiting, F.run, handed_back(fence, attempts))
  redis.call('ZADD', K.waiting(queue), place, id)
  notify(id, S.waiting)
  redis.call('PUBLISH', K.work(queue), '')
  return 'released'
end
