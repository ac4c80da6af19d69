-- The histories of queues: their state at the end of each interval, and what happened in it. A sample is "interval waiting
-- running scheduled dead accepted started finished failed", then the 50th and 95th percentile of service times, and of waits, ms, a hyphen
-- for none. The interval is the time of its beginning, in intervals.

local whole = Number.whole
-- How long the history of a queue that does not change is kept, ms.
local KEEP_MS = 2 * C.maxSamples * C.bucketMs
-- The longer intervals that samples are thinned to, in intervals of a sample, and how many are kept. Their lists have the same form.
local THINNED = { { span = C.fiveMinutes, max = 288 }, { span = C.anHour, max = 168 } }
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
-- Returns also when its samples were last thinned.
local function read_counts(call, queue)
  local fields = {}
  for _, kind in ipairs(KINDS) do
    for _, field in ipairs(Rate.fields(kind)) do fields[#fields + 1] = field end
  end
  fields[#fields + 1] = Q.thinned
  local counters = redis.call('HMGET', K.queue(call, queue), unpack(fields))
  local function count(kind, bucket)
    return Rate.between(counters[(kind - 1) * Rate.BUCKETS + bucket % Rate.BUCKETS + 1], bucket, bucket)
  end
  return count, tonumber(counters[#fields] or nil)
end

-- One sample in place of several, from the newest on: the state at the end, the sums of the counts, and the means of the percentiles,
-- weighted by how many tasks finished.
local function joined(samples)
  local words, sums, weights = {}, { 0, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0 }
  for nth, sample in ipairs(samples) do
    local at = 0
    for word in string.gmatch(sample, '%S+') do
      at = at + 1
      if nth == 1 then words[at] = word end
      if at > 5 and at <= 9 then sums[at - 5] = sums[at - 5] + word end
      if at > 9 and word ~= '-' then
        -- How many finished is the eighth word.
        local finished = tonumber(string.match(sample, '^' .. string.rep('%S+ ', 7) .. '(%d+)'))
        sums[at - 5], weights[at - 9] = sums[at - 5] + word * finished, weights[at - 9] + finished
      end
    end
  end
  for n = 1, 4 do
    words[n + 5] = whole(sums[n])
    words[n + 9] = weights[n] > 0 and whole(sums[n + 4] / weights[n]) or '-'
  end
  return table.concat(words, ' ')
end

-- Adds the longer intervals that have ended, as far as there are samples of them.
local function thin(call, queue, this)
  local samples = redis.call('LRANGE', K.history(call, queue), 0, -1)
  for _, level in ipairs(THINNED) do
    local key, span = K.history(call, queue) .. ' ' .. level.span, level.span
    local last = tonumber(string.match(redis.call('LINDEX', key, 0) or '', '^%d+') or -1)
    if last >= this then
      -- The clock was set back.
      redis.call('UNLINK', key)
      last = -1
    end
    local intervals = {}
    for _, sample in ipairs(samples) do
      local interval = math.floor(string.match(sample, '^%d+') / span)
      if interval < math.floor(this / span) and interval > math.floor(last / span) then
        local newest = intervals[#intervals]
        if not newest or newest.interval ~= interval then
          newest = { interval = interval }
          intervals[#intervals + 1] = newest
        end
        newest[#newest + 1] = sample
      end
    end
    for n = #intervals, 1, -1 do redis.call('LPUSH', key, joined(intervals[n])) end
    if #intervals > 0 then
      redis.call('LTRIM', key, 0, level.max - 1)
      redis.call('PEXPIRE', key, 2 * level.max * span * C.bucketMs)
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

--   this   the present interval
--   empty   nothing is in the queue
--   before_empty  the interval of its last sample, after which nothing was in it; nil if it has to be read
local function sample(call, queue, this, empty, before_empty)
  local history = K.history(call, queue)
  local last, waiting, running, scheduled, dead = before_empty, nil, nil, nil, nil
  local has_history = false
  if not last then
    last, waiting, running, scheduled, dead =
      string.match(redis.call('LINDEX', history, 0) or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) ')
    has_history = last ~= nil
  end
  last = tonumber(last or 0)
  if last > this then
    -- The clock was set back.
    redis.call('UNLINK', history)
    last, waiting, running, scheduled, dead, has_history = 0, nil, nil, nil, nil, false
  end
  local count, thinned = read_counts(call, queue)
  local gauges = { 0, 0, 0, 0 }
  if not empty then
    for n, index in ipairs(indexes_of(call, queue)) do gauges[n] = redis.call('ZCARD', index) end
  end
  local before = (waiting or '0') .. ' ' .. (running or '0') .. ' ' .. (scheduled or '0') .. ' ' .. (dead or '0')
  local after, had = table.concat(gauges, ' '), tonumber(running or 0)
  for bucket = math.max(last + 1, this - Rate.BUCKETS + 1), this - 1 do
    local accepted, finished, failed, returned = count(1, bucket), count(2, bucket), count(3, bucket), count(4, bucket)
    -- The state at the end of an interval without a sample is unknown: take that of the one before.
    local stood, ran = before, had
    if bucket == this - 1 then stood, ran = after, gauges[2] end
    -- Tasks that have left the slots, or are in them now, have started.
    local started = math.max(0, ran - had + finished + returned)
    if stood ~= before or accepted + started + finished + failed > 0 then
      local times = finished > 0 and percentiles_of(call, queue, bucket * C.bucketMs, C.bucketMs) or '- - - -'
      local counts = accepted .. ' ' .. started .. ' ' .. finished .. ' ' .. failed
      local length = redis.call('LPUSH', history, whole(bucket) .. ' ' .. stood .. ' ' .. counts .. ' ' .. times)
      if length > C.maxSamples then redis.call('LTRIM', history, 0, C.maxSamples - 1) end
      redis.call('PEXPIRE', history, KEEP_MS)
      before, had, has_history = stood, ran, true
    end
  end
  local shortest = math.floor(this / THINNED[1].span)
  -- The first sample of a queue is thinned at once: a queue that was never thinned has a history only if it was read or begun above.
  if thinned ~= shortest and (has_history or thinned and redis.call('EXISTS', history) == 1) then
    thin(call, queue, this)
    redis.call('HSET', K.queue(call, queue), Q.thinned, shortest)
  end
end

-- Adds samples of the intervals that have ended since the last call. Any number of processes may call it at any time: each interval gets
-- one sample, or none if nothing has changed. The first process to call in an interval takes its samples; if it stops half-way, the next
-- interval makes up for that. Returns the ms until the current interval ends, and 1 if all of the queues are empty, else 0.
register('sample', { 'allow-oom' }, function(keys, args)
  local call, ARGS, ANSWER = Call.new(keys), Layout.sample.args, Layout.sample.answer
  local process, was_empty, queues = args[ARGS.process], args[ARGS.empty] == '1', { unpack(args, ARGS.count + 1) }
  local this = Rate.bucket(call)
  local of, by = string.match(redis.call('HGET', K.ticked(call), 'sampled') or '', '^(%d+) (.+)$')
  local is_new = tonumber(of) ~= this
  if is_new then redis.call('HSET', K.ticked(call), 'sampled', whole(this) .. ' ' .. process) end
  local empty = false
  if is_new or by == process then
    empty = are_empty(call, queues)
    -- Nobody else has added a sample in between.
    local stayed_empty = empty and was_empty and is_new and by == process and tonumber(of) == this - 1
    for _, queue in ipairs(queues) do sample(call, queue, this, empty, stayed_empty and this - 2 or nil) end
  end
  return { [ANSWER.endsMs] = whole((this + 1) * C.bucketMs - call.now), [ANSWER.empty] = empty and 1 or 0 }
end)

-- Returns the latest samples of each queue, or those of longer intervals, one per line, the newest first: a text costs a client much less
-- than that many replies.
register('history', { 'no-writes' }, function(keys, args)
  local call, ARGS, ANSWER = Call.new(keys), Layout.history.args, Layout.history.answer
  local last, histories = tonumber(args[ARGS.max]) - 1, {}
  local level = args[ARGS.span] == '1' and '' or ' ' .. args[ARGS.span]
  for n = ARGS.count + 1, #args do
    histories[#histories + 1] = table.concat(redis.call('LRANGE', K.history(call, args[n]) .. level, 0, last), '\n')
  end
  return { [ANSWER.nowMs] = call.now_text, [ANSWER.histories] = histories }
end)
