-- A running task has lost its worker: a loss is counted apart from attempts, and one too many is its end. Needs settle and line.
--   t  its fields {cancel requested, place, losses, webhook, undo}
-- Returns what became of it ("waiting", "dead", "canceled") and its losses.
local function lose(queue, id, t, most_lost, problem, keep, tombstone, dead, cap)
  local key = base .. 't:' .. id
  local losses = tonumber(t[3] or 0) + 1
  redis.call('ZREM', base .. 'l:' .. queue, id)
  redis.call('HSET', key, 'l', whole(losses))
  redis.call('HINCRBY', base .. 'q:' .. queue, 'lost', 1)
  if t[1] then
    settle(id, 'c', nil, keep, tombstone, t[4], t[5])
    return 'canceled', losses
  end
  if losses > most_lost then
    note_error(id, 'the worker was lost ' .. losses .. ' times')
    redis.call('HSET', key, 'y', 'worker-lost')
    bury(queue, id, problem, dead, tombstone, cap, t[4], t[5])
    count_rate(queue, 'z', 1)
    return 'dead', losses
  end
  redis.call('HDEL', key, 'o', 'w', 'p', 'b')
  redis.call('HSET', key, 's', 'w')
  redis.call('HINCRBY', key, 'a', -1)
  redis.call('ZADD', base .. 'w:' .. queue, t[2], id)
  redis.call('PUBLISH', base .. 'e:' .. id, 'w')
  return 'waiting', losses
end
