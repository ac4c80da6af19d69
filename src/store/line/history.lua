-- The histories of queues: their state at the end of each interval, and what had happened to them until then. A sample is "interval waiting
-- running scheduled dead accepted started finished failed", then the 50th and 95th percentile of service times, and of waits, ms, a hyphen
-- for none. The interval is the time of its beginning, in intervals. The four counters only grow: what happened between two samples is
-- their difference. The first sample of a list is what others are compared with, and counts for nothing itself.

local whole = Number.whole
-- How many samples are kept: those of an hour, the one before them, and that of the interval that ends meanwhile.
local MAX = C.maxSamples + 2
-- Of each longer span the last sample is kept too, with the times of the whole span. How long a span is, in intervals, and how many are kept.
local LONGER = { { span = C.fiveMinutes, max = 288 + 2 }, { span = C.anHour, max = 168 + 2 } }
-- How long the history of a queue that does not change is kept, ms: longer than any list goes back.
local KEEP_MS = 2 * 168 * C.anHour * C.bucketMs
local NO_TIMES = '- - - -'
-- For at most this many of the latest outcomes, the times are looked up.
local MAX_LOOKED_AT = 64
-- A place in a plain line says when the task joined it. After a burst it may be ahead of the clock: less than this, in ms, is not a delay.
local MIN_DELAY_MS = 2000
-- The kinds of events that are counted.
local KINDS = { R.accepted, R.finished, R.failed, R.returned }

-- "p50 p95" of some times, in ms; a hyphen each if there are none.
local function percentiles(times)
  local count = #times
  if count == 0 then return '- -' end
  table.sort(times)
  return whole(times[math.ceil(count * 0.5)]) .. ' ' .. whole(times[math.ceil(count * 0.95)])
end

-- When a task joined the line from which it was taken; for a scheduled task, later than its creation.
local function joined_at(created, place, of_fair)
  local joined = tonumber(place) and Line.joined_at(tonumber(place), created, of_fair) or created
  return joined > created + MIN_DELAY_MS and joined or created
end

-- The first of the latest outcomes, the newest of which is the first, that ended before a time.
local function first_before(key, length, time)
  local low, high = 0, length
  while low < high do
    local middle = math.floor((low + high) / 2)
    local ended = string.match(redis.call('LINDEX', key, middle) or '', '^%d+')
    if ended and tonumber(ended) >= time then low = middle + 1 else high = middle end
  end
  return low
end

-- "p50 p95" of the service times of those that succeeded, and of the waits of those that ended at their first attempt, from some of the
-- latest outcomes of an interval.
local function percentiles_of(call, queue, from, span)
  local key = K.finished(call, queue)
  local length = redis.call('LLEN', key)
  local first, last = first_before(key, length, from + span), first_before(key, length, from)
  -- So many have ended since that the list has none of that interval: use the latest.
  if first == last then first, last = 0, length end
  local services, waits = {}, {}
  local step = math.max(1, (last - first) / MAX_LOOKED_AT)
  for n = 0, math.min(MAX_LOOKED_AT, last - first) - 1 do
    local at, id = string.match(redis.call('LINDEX', key, first + math.floor(n * step)) or '', '^(%d+) (.+)$')
    local t = at and redis.call('HMGET', K.task(call, id), F.state, F.created, F.ended, F.run, F.joined)
    local fence, late, attempts, place = Run.parts(t and t[4])
    local begun = fence and Run.begun(fence, late)
    if begun and t[3] == at then
      if t[1] == S.succeeded then services[#services + 1] = math.max(0, at - begun) end
      local created = tonumber(t[2])
      if attempts == '1' and created and t[1] ~= S.canceled then
        waits[#waits + 1] = math.max(0, begun - joined_at(created, place, t[5]))
      end
    end
  end
  return percentiles(services) .. ' ' .. percentiles(waits)
end

-- Reads all buckets of a queue. Returns a function that says how many events of a kind (see KINDS) there were in one.
local function read_counts(call, queue)
  local fields = {}
  for _, kind in ipairs(KINDS) do
    for _, field in ipairs(Rate.fields(kind)) do fields[#fields + 1] = field end
  end
  local counts = redis.call('HMGET', K.queue(call, queue), unpack(fields))
  return function(kind, bucket)
    return Rate.between(counts[(kind - 1) * Rate.BUCKETS + bucket % Rate.BUCKETS + 1], bucket, bucket)
  end
end

-- The interval, the state and the counters of the newest sample of a list; nil if it has none.
local function newest(key)
  local first, numbers = redis.call('LINDEX', key, 0), {}
  if not first then return nil end
  for word in string.gmatch(first, '%S+') do numbers[#numbers + 1] = tonumber(word) end
  return { unpack(numbers, 1, 9) }
end

local function add(key, numbers, times, max)
  if redis.call('LPUSH', key, table.concat(numbers, ' ') .. ' ' .. times) > max then redis.call('LTRIM', key, 0, max - 1) end
  redis.call('PEXPIRE', key, KEEP_MS)
end

-- Keeps a sample for each longer span of which it is the last, since the next one is of a later interval.
local function keep_last(call, queue, numbers, interval)
  for _, level in ipairs(LONGER) do
    local span = level.span
    local nth = math.floor(numbers[1] / span)
    if math.floor(interval / span) > nth then
      local key = K.history(call, queue) .. ' ' .. span
      local before = newest(key)
      local has_finished = before and before[8] < numbers[8]
      add(key, numbers, has_finished and percentiles_of(call, queue, nth * span * C.bucketMs, span * C.bucketMs) or NO_TIMES, level.max)
    end
  end
end

-- The indexes that make up the state of a queue.
local function indexes_of(call, queue)
  return { K.waiting(call, queue), K.leases(call, queue), K.scheduled(call, queue), K.dead(call, queue) }
end

local function are_empty(call, queues)
  local keys = {}
  for _, queue in ipairs(queues) do
    for _, key in ipairs(indexes_of(call, queue)) do keys[#keys + 1] = key end
  end
  return redis.call('EXISTS', unpack(keys)) == 0
end

--   this          the present interval
--   empty         nothing is in the queue
--   stayed_empty  nor was there at the end of the interval before
local function sample(call, queue, this, empty, stayed_empty)
  local history, count = K.history(call, queue), read_counts(call, queue)
  if stayed_empty and count(1, this - 1) + count(2, this - 1) == 0 then return end
  local gauges = { 0, 0, 0, 0 }
  if not empty then
    for n, index in ipairs(indexes_of(call, queue)) do gauges[n] = redis.call('ZCARD', index) end
  end
  local last = newest(history)
  for bucket = math.max(last and last[1] + 1 or 0, this - Rate.BUCKETS + 1), this - 1 do
    local before = last or { bucket - 1, 0, 0, 0, 0, 0, 0, 0, 0 }
    local accepted, finished, failed, returned = count(1, bucket), count(2, bucket), count(3, bucket), count(4, bucket)
    -- The state at the end of an interval without a sample is unknown: take that of the one before.
    local waiting, running, scheduled, dead = unpack(bucket == this - 1 and gauges or { unpack(before, 2, 5) })
    -- Tasks that have left the slots, or are in them now, have started.
    local started = math.max(0, running - before[3] + finished + returned)
    local numbers = {
      bucket, waiting, running, scheduled, dead, before[6] + accepted, before[7] + started, before[8] + finished, before[9] + failed,
    }
    if table.concat(numbers, ' ', 2) ~= table.concat(before, ' ', 2) then
      if not last then
        add(history, before, NO_TIMES, MAX)
        for _, level in ipairs(LONGER) do add(history .. ' ' .. level.span, before, NO_TIMES, level.max) end
      else
        keep_last(call, queue, before, bucket)
      end
      add(history, numbers, finished > 0 and percentiles_of(call, queue, bucket * C.bucketMs, C.bucketMs) or NO_TIMES, MAX)
      last = numbers
    end
  end
end

-- Adds samples of the intervals that have ended since the last call. Any number of processes may call it at any time: each interval gets
-- one sample, or none if nothing has changed. The first process to call in an interval takes its samples; if it stops half-way, the next
-- interval makes up for that. Returns the ms until the current interval ends, and whether all of the queues are empty.
register('sample', { 'allow-oom' }, function(call, asked)
  local process, queues = asked.process, asked.queues
  local this = Rate.bucket(call)
  local of, by = string.match(redis.call('HGET', K.ticked(call), 'sampled') or '', '^(%d+) (.+)$')
  local is_new = tonumber(of) ~= this
  if is_new then redis.call('HSET', K.ticked(call), 'sampled', whole(this) .. ' ' .. process) end
  local empty = false
  if is_new or by == process then
    empty = are_empty(call, queues)
    -- Nobody else has added a sample in between.
    local stayed_empty = empty and asked.wereEmpty and is_new and by == process and tonumber(of) == this - 1
    for _, queue in ipairs(queues) do sample(call, queue, this, empty, stayed_empty) end
  end
  return { endsMs = (this + 1) * C.bucketMs - call.now, empty = empty }
end)

-- Returns the time; beside it the latest samples of each queue, one per line, the newest first: a text costs a client much less than that
-- many replies. Those of a longer span begin with the latest sample of all, after which nothing has changed.
register('history', { 'no-writes' }, function(call, asked)
  local histories = {}
  for n, queue in ipairs(asked.queues) do
    local key, samples = K.history(call, queue), {}
    if asked.span ~= 1 then
      samples = redis.call('LRANGE', key, 0, 0)
      key = key .. ' ' .. asked.span
    end
    for _, line in ipairs(redis.call('LRANGE', key, 0, asked.max - 1)) do samples[#samples + 1] = line end
    histories[n] = table.concat(samples, '\n')
  end
  return call.now, histories
end)
