-- A running task has lost its worker: a loss is counted apart from attempts, and one too many is its end. What counts is a process
-- that died while the handler ran in it: where the worker has yet to say that it begins, nothing is counted. Needs settle, line and unbegun.
--   t  its fields {cancel requested, place, losses, webhook, undo, fence, fence under which it has yet to begin}
-- Returns what became of it ("waiting", "released" where nothing was counted, "dead", "canceled") and its losses.
local function lose(queue, id, t, most_lost, problem, keep, tombstone, dead, cap)
  local key = base .. 't:' .. id
  local losses, begun = tonumber(t[3] or 0), not (t[7] and t[7] == t[6])
  redis.call('ZREM', base .. 'l:' .. queue, id)
  if begun then
    losses = losses + 1
    redis.call('HSET', key, 'l', whole(losses))
    redis.call('HDEL', key, 'N')
    redis.call('HINCRBY', base .. 'q:' .. queue, 'lost', 1)
    redis.call('HSET', base .. 'q:' .. queue, 'lostAt', now_text)
  else
    forget_start(queue, key)
    redis.call('HINCRBY', key, 'N', 1)
  end
  if t[1] then
    settle(id, 'c', nil, keep, tombstone, t[4], t[5])
    return 'canceled', losses
  end
  if begun and losses > most_lost then
    note_error(id, 'the worker was lost ' .. losses .. ' times')
    redis.call('HSET', key, 'y', 'worker-lost')
    bury(queue, id, problem, dead, tombstone, cap, t[4], t[5])
    count_rate(queue, 'z', 1)
    return 'dead', losses
  end
  redis.call('HDEL', key, 'o', 'w', 'p', 'b', 'n')
  redis.call('HSET', key, 's', 'w')
  redis.call('HINCRBY', key, 'a', -1)
  redis.call('ZADD', base .. 'w:' .. queue, t[2], id)
  redis.call('PUBLISH', base .. 'e:' .. id, 'w')
  return begun and 'waiting' or 'released', losses
end
