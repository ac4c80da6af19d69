-- Workers report that they live and how many slots each queue has; workers that have not reported in time are deleted.

local whole = Number.whole
-- Maximum number of workers of a queue that are deleted in one call; and the longest time for which a silent worker counts as live, ms,
-- which matters after the clock was set back.
local MAX_DELETED, LONGEST_MS = 100, 300000

-- Deletes a worker of a queue. Returns how many workers, and how many slots, that was.
--   left  whether it has said so: one that is only silent is still quiet when it comes back
local function delete_worker(call, queue, worker, left)
  if redis.call('ZREM', K.workers(call, queue), worker) == 0 then return 0, 0 end
  local slots = tonumber(redis.call('HGET', K.slots(call, queue), worker) or 0)
  redis.call('HDEL', K.slots(call, queue), worker)
  local lanes = { Reservation.lane_field(worker, '0'), Reservation.lane_field(worker, '1') }
  redis.call('HDEL', K.queue(call, queue), lanes[1], lanes[2])
  if left then redis.call('HDEL', K.queue(call, queue), Q.quiet .. worker) end
  return 1, slots
end

-- When the last worker counts as gone, ms, within the longest time above.
local function live_until(call, live)
  local last = redis.call('ZREVRANGE', live, 0, 0, 'WITHSCORES')
  local until_when, latest = tonumber(last[2] or 0), call.now + LONGEST_MS
  if until_when <= latest then return until_when end
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', live, '(' .. whole(latest), '+inf', 'LIMIT', 0, MAX_DELETED)) do
    redis.call('ZADD', live, whole(latest), name)
  end
  return latest
end

-- Whether only the expiry of the heartbeat of a worker must be updated, since nothing else has changed.
--   workers, until_when  what the queue's hash has of all
local function only_goes_on(call, queue, worker, ttl, workers, until_when)
  local live, ends = K.workers(call, queue), call.now + ttl
  if redis.call('ZADD', live, 'XX', 'CH', whole(ends), worker) == 0 then return false end
  -- If it is the only one, no other has to be deleted.
  if workers ~= '1' and redis.call('ZRANGEBYSCORE', live, '-inf', call.now_text, 'LIMIT', 0, 1)[1] then return false end
  until_when = tonumber(until_when or 0)
  if until_when > call.now + LONGEST_MS then return false end
  if until_when < ends then redis.call('HSET', K.queue(call, queue), Q.liveUntil, whole(ends)) end
  return true
end

--   of     of a queue: its name, slots and batch
--   found  what the answer says of all queues
local function beat(call, asked, of, found)
  local worker, ttl, queue, slots = asked.worker, asked.ttlMs, of.queue, whole(of.slots)
  local live, slots_of, counters = K.workers(call, queue), K.slots(call, queue), K.queue(call, queue)
  local all_slots, known_workers, known_until, concurrency, quiet =
    unpack(redis.call('HMGET', counters, Q.slots, Q.workers, Q.liveUntil, Q.setConcurrency, Q.quiet .. worker))
  if not quiet and asked.quiet then
    -- The store has lost it.
    redis.call('HSET', counters, Q.quiet .. worker, '1')
    quiet = '1'
  end
  found.quiet = found.quiet or quiet == '1'
  if concurrency then found.set[#found.set + 1] = { queue, tonumber(concurrency) } end
  if asked.again and ttl > 0 and only_goes_on(call, queue, worker, ttl, known_workers, known_until) then return end
  -- A worker whose heartbeat was late is still known: it is not a start.
  if ttl > 0 and tonumber(known_until or 0) <= call.now and not redis.call('ZSCORE', live, worker) then
    Warmup.note_start(call, queue, slots, known_until)
  end
  local workers = redis.call('ZCARD', live)
  -- The sum is stored, so that readers do not have to add them all up.
  local total = workers > 0 and tonumber(all_slots or 0) or 0
  if workers == 0 then redis.call('DEL', slots_of) end

  local gone = redis.call('ZRANGEBYSCORE', live, '-inf', call.now_text, 'LIMIT', 0, MAX_DELETED)
  if ttl == 0 then gone[#gone + 1] = worker end
  for _, name in ipairs(gone) do
    local fewer, fewer_slots = delete_worker(call, queue, name, name == worker)
    workers, total = workers - fewer, total - fewer_slots
  end
  if ttl > 0 then
    local known = redis.call('HGET', slots_of, worker)
    if known ~= slots then redis.call('HSET', slots_of, worker, slots) end
    workers = workers + redis.call('ZADD', live, whole(call.now + ttl), worker)
    total = total + tonumber(slots) - tonumber(known or 0)
    if of.batch then redis.call('HSET', counters, Q.batch, of.batch) else redis.call('HDEL', counters, Q.batch) end
  end
  local until_text = whole(workers > 0 and live_until(call, live) or math.min(tonumber(known_until or 0), call.now))
  redis.call('HSET', counters, Q.workers, workers, Q.slots, whole(math.max(0, total)), Q.liveUntil, until_text)
end

-- Returns whether the worker is to take no more work, and the slots that each worker process gives a queue, where an operator has set them.
register('heartbeat', { 'allow-oom' }, function(call, asked)
  local worker, ttl, about = asked.worker, asked.ttlMs, asked.about
  local found = { quiet = false, set = {} }
  for _, of in ipairs(asked.slots) do beat(call, asked, of, found) end
  if ttl == 0 then
    redis.call('UNLINK', K.about(call, worker))
  elseif about ~= '' then
    redis.call('SET', K.about(call, worker), whole(ttl) .. ' ' .. about, 'PX', ttl)
  end
  return found
end)

-- Returns the live workers of queues: their slots, and what each has reported about itself, "" if nothing, and for how many ms that holds.
register('workers', { 'no-writes' }, function(call, asked)
  local slots, abouts, seen = {}, {}, {}
  for _, queue in ipairs(asked.queues) do
    local live = redis.call('ZRANGEBYSCORE', K.workers(call, queue), '(' .. call.now_text, '+inf', 'LIMIT', 0, asked.max)
    for _, worker in ipairs(live) do
      local given = tonumber(redis.call('HGET', K.slots(call, queue), worker) or 0)
      local quiet = redis.call('HGET', K.queue(call, queue), Q.quiet .. worker) == '1'
      slots[#slots + 1] = { queue = queue, worker = worker, slots = given, quiet = quiet }
      if not seen[worker] and #abouts < asked.max then
        seen[worker] = true
        local key = K.about(call, worker)
        abouts[#abouts + 1] = { worker = worker, about = redis.call('GET', key) or '', leftMs = redis.call('PTTL', key) }
      end
    end
  end
  return { nowMs = call.now, slots = slots, abouts = abouts }
end)
