-- A running task has lost its worker: a loss is counted apart from attempts, and one too many is its end. What counts is a process
-- that died while the handler ran in it: where the worker has yet to say that it begins, nothing is counted. Needs settle, line and unbegun.
--   t  its fields {cancel requested, place, losses, webhook, undo, fence, fence under which it has yet to begin}
-- Returns what became of it ("waiting", "released" where nothing was counted, "dead", "canceled") and its losses.
local function lose(queue, id, t, most_lost, problem, keep, tombstone, dead, cap)
  local key = K.task(id)
  local losses, begun = tonumber(t[3] or 0), not (t[7] and t[7] == t[6])
  redis.call('ZREM', K.leases(queue), id)
  if begun then
    losses = losses + 1
    redis.call('HSET', key, F.lost, whole(losses))
    redis.call('HDEL', key, F.unbegunReleases)
    redis.call('HINCRBY', K.queue(queue), Q.lost, 1)
    redis.call('HSET', K.queue(queue), Q.lostAt, now_text)
  else
    forget_start(queue, key)
    redis.call('HINCRBY', key, F.unbegunReleases, 1)
  end
  if t[1] then
    settle(id, S.canceled, nil, keep, tombstone, t[4], t[5])
    return 'canceled', losses
  end
  if begun and losses > most_lost then
    note_error(id, 'the worker was lost ' .. losses .. ' times')
    redis.call('HSET', key, F.errorCode, 'worker-lost')
    bury(queue, id, problem, dead, tombstone, cap, t[4], t[5])
    count_rate(queue, R.finished, 1)
    return 'dead', losses
  end
  redis.call('HDEL', key, F.place, F.worker, F.progress, F.begun, F.unbegun)
  redis.call('HSET', key, F.state, S.waiting)
  redis.call('HINCRBY', key, F.attempts, -1)
  redis.call('ZADD', K.waiting(queue), t[2], id)
  redis.call('PUBLISH', K.changes(id), S.waiting)
  return begun and 'waiting' or 'released', losses
end
