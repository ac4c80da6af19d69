-- A running task has lost its worker: a loss is counted apart from attempts, and one too many is its end. What counts is a process
-- that died while the handler ran in it: where the worker has yet to say that it begins, nothing is counted. Needs keyed, settle, rate, past and unbegun.
--   ends  how its queue ends tasks: {most_lost, problem, keep, tombstone, dead, cap}
-- Returns what became of it ("waiting", "released" where nothing was counted, "dead", "canceled") and its losses.
local function lose(queue, id, ends)
  local key = K.task(id)
  local cancel, run, lost, unbegun, restarts, noted, of_key =
    unpack(redis.call('HMGET', key, F.cancel, F.run, F.lost, F.unbegun, F.restarts, F.place, F.key))
  local fence, _, attempts, place = readable_run(run, noted)
  local losses, begun = tonumber(lost or 0), not (unbegun and unbegun == fence)
  redis.call('ZREM', K.leases(queue), id)
  if begun then
    losses = losses + 1
    redis.call('HSET', key, F.lost, whole(losses), F.restarts, (restarts or 0) + 1, F.extra, '1')
    redis.call('HDEL', key, F.unbegunReleases)
    redis.call('HINCRBY', K.queue(queue), Q.lost, 1)
    redis.call('HSET', K.queue(queue), Q.lostAt, now_text)
  else
    forget_start(queue, key)
    redis.call('HINCRBY', key, F.unbegunReleases, 1)
    redis.call('HSET', key, F.extra, '1')
  end
  if cancel then
    count_rate(queue, R.returned, 1)
    settle(id, S.canceled, ends.keep, ends.tombstone)
    return 'canceled', losses
  end
  if begun and losses > ends.most_lost then
    note_error(id, 'the worker was lost ' .. losses .. ' times')
    redis.call('HSET', key, F.errorCode, 'worker-lost')
    bury(queue, id, ends.problem, ends.dead, ends.tombstone, ends.cap)
    count_rate(queue, R.finished, 1)
    count_rate(queue, R.failed, 1)
    return 'dead', losses
  end
  count_rate(queue, R.returned, 1)
  note_past(key, run, begun and 'lost' or 'released')
  redis.call('HDEL', key, F.progress, F.unbegun)
  redis.call('HSET', key, F.state, S.waiting, F.run, handed_back(fence, attempts))
  redis.call('ZADD', K.waiting(queue), place, id)
  join_key(queue, id, of_key, place)
  notify(id, S.waiting)
  return begun and 'waiting' or 'released', losses
end
