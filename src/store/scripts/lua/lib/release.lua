-- Hands a running task back: it waits again at its old place, and the attempt does not count. Needs clock, rate, past, follow, keyed and settle.
-- Returns "released", or "canceled" where its cancel was requested.
local function release(queue, id, keep, tombstone)
  local key = K.task(id)
  local cancel, run, of_key = unpack(redis.call('HMGET', key, F.cancel, F.run, F.key))
  local fence, _, attempts, place = run_of(run)
  redis.call('ZREM', K.leases(queue), id)
  count_rate(queue, R.returned, 1)
  if cancel then
    settle(id, S.canceled, keep, tombstone)
    return 'canceled'
  end
  note_past(key, run, 'released')
  redis.call('HDEL', key, F.progress, F.unbegun)
  redis.call('HSET', key, F.state, S.waiting, F.run, handed_back(fence, attempts))
  redis.call('ZADD', K.waiting(queue), place, id)
  join_key(queue, id, of_key, place)
  notify(id, S.waiting)
  redis.call('PUBLISH', K.work(queue), '')
  return 'released'
end
