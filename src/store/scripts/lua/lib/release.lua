-- Hands a running task back: it waits again at its old place, and the attempt does not count. Needs clock, follow and settle.
--   t  its fields {cancel requested, place, webhook, undo}
-- Returns "released", or "canceled" where its cancel was requested.
local function release(queue, id, t, keep, tombstone)
  local key = base .. 't:' .. id
  redis.call('ZREM', base .. 'l:' .. queue, id)
  if t[1] then
    settle(id, 'c', nil, keep, tombstone, t[3], t[4])
    return 'canceled'
  end
  redis.call('HDEL', key, 'w', 'p', 'o', 'b', 'n')
  redis.call('HSET', key, 's', 'w')
  redis.call('HINCRBY', key, 'a', -1)
  redis.call('ZADD', base .. 'w:' .. queue, t[2], id)
  redis.call('PUBLISH', base .. 'e:' .. id, 'w')
  redis.call('PUBLISH', base .. 'n:' .. queue, '')
  return 'released'
end
