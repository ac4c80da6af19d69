-- Workers report that they live and how many slots each queue has; workers that have not reported in time are deleted. Here is also learned
-- how long one takes to start.
local Worker = {}

local whole = Number.whole

-- How long a worker takes to start, for estimates while a queue has none. A start lasts from the moment at which there was work in line
-- and no worker until a worker sends its first heartbeat, which it does when it begins to take work.
--   Q.needed   when work last joined an empty line while there was no worker, ms. If the last worker left after that, the need began at
--              Q.liveUntil
--   Q.warmup   exponentially weighted mean (ms) and variance (ms²) of the starts, how many there were, and the slots of the last of these
--              workers, with a space between
-- A handler may declare it: the field "warmup <queue>" of K.ticked, see queue.lua.

-- One start counts as at most this many times the mean, or this many ms, so that an outage does not ruin the mean.
local MAX_GROWTH, ALWAYS_MS = 4, 60000

-- Since when there has been work and no worker, ms.
local function since(needed, live_until)
  return math.max(tonumber(needed or 0), tonumber(live_until or 0))
end

-- Notes that a worker is needed, if tasks have just joined an empty line.
--   joined  how many; nil if the need begins now, although tasks waited before
--   live_until  Q.liveUntil; nil if the caller has not read it, false if there is none
function Worker.note_need(call, queue, joined, live_until)
  local key = K.queue(call, queue)
  if live_until == nil then live_until = redis.call('HGET', key, Q.liveUntil) end
  if tonumber(live_until or 0) > call.now or redis.call('ZCARD', K.waiting(call, queue)) > (joined or math.huge) then return end
  redis.call('HSET', key, Q.needed, call.now_text)
end

-- Notes the first worker of a queue that had none.
function Worker.note_start(call, queue, slots, live_until)
  local key = K.queue(call, queue)
  local needed, learned, paused, rest = unpack(redis.call('HMGET', key, Q.needed, Q.warmup, Q.paused, Q.rest))
  local mean, variance, samples = string.match(learned or '0 0 0', '^(%S+) (%S+) (%S+)')
  mean, variance, samples = tonumber(mean), tonumber(variance), tonumber(samples)
  local began = since(needed, live_until)
  local span = call.now - began
  -- Not learned: a wait too long for a start, and a wait that something else has ended. The task may have been taken already.
  if began > 0 and span >= 0 and span <= C.longestStartMs and paused ~= '1' and not rest
    and redis.call('EXISTS', K.waiting(call, queue), K.leases(call, queue)) > 0 then
    if samples > 0 then span = math.min(span, math.max(MAX_GROWTH * mean, ALWAYS_MS)) end
    samples = samples + 1
    local weight = math.max(1 / samples, C.minStartWeight)
    local distance = span - mean
    mean = mean + weight * distance
    variance = (1 - weight) * (variance + weight * distance * distance)
  end
  redis.call('HSET', key, Q.warmup, string.format('%.3f %.3f %d %d', mean, variance, samples, slots))
end

-- The facts for an estimate of a queue without a worker: for how many ms there has been work, what its handler declares ("ms slots") and
-- Q.warmup, with a space between. Nil if nothing is known, or no worker has come for so long that none may come.
function Worker.start_of(call, queue, waiting, live_until)
  local needed, learned = unpack(redis.call('HMGET', K.queue(call, queue), Q.needed, Q.warmup))
  local declared = redis.call('HGET', K.ticked(call), 'warmup ' .. queue)
  if not learned and not declared then return nil end
  local began = since(needed, live_until)
  local elapsed = waiting > 0 and began > 0 and math.max(0, call.now - began) or 0
  if elapsed > C.longestStartMs then return nil end
  return whole(elapsed) .. ' ' .. (declared or '0 0') .. ' ' .. (learned or '0 0 0 0')
end

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
    Worker.note_start(call, queue, slots, known_until)
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

return Worker
