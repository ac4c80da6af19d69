-- Takes tasks out of the line and starts them: for a worker that reserves them, see reserve.lua, or as turns, see turns.lua.
--
-- A request is {queue, worker, lease (ms), rate and span (how many tasks may start in how many ms, nil for any number), suspect_lease, ahead,
-- lane}, see reserve.lua; that for turns has `turn`, for how long one may last (ms, 0 for any time).
local Start = {}

local whole = Number.whole
local STATE, INPUT, CREATED, EXTRA, LISTENERS, RUN = F.state, F.input, F.created, F.extra, F.listeners, F.run
local WAITING, RUNNING = S.waiting, S.running
local task_key, new_run = K.task, Run.new

-- Maximum number of tasks for which one call decides anew whether they may start.
local REKEYED = 200

-- After a change of the limit for each line key, decides which tasks in line from a score on may start, some of them in each call. Returns
-- the score up to which this is decided now, nil if for all.
function Start.rekey(call, queue, from)
  local line, counters = K.waiting(call, queue), K.queue(call, queue)
  local some = redis.call('ZRANGEBYSCORE', line, from, '+inf', 'WITHSCORES', 'LIMIT', 0, REKEYED)
  for n = 1, #some, 2 do
    Keyed.decide(call, queue, some[n], redis.call('HGET', K.task(call, some[n]), F.key))
  end
  if #some < 2 * REKEYED then
    redis.call('HDEL', counters, Q.rekey)
    return nil
  end
  local last = some[#some]
  redis.call('HSET', counters, Q.rekey, (last == from and '(' or '') .. last)
  return '(' .. last
end

-- How many of the tasks that are wanted the rate allows to start now, and for how many ms no more. K.starts has the times of the last starts,
-- as many as the rate allows in a span: one more may start when the oldest of them is a span ago. This holds for every span, where counting
-- by the clock would let twice as many through around its edges.
function Start.allowed_by_rate(call, request, wanted)
  local starts, rate, span, now = K.starts(call, request.queue), request.rate, request.span, call.now
  if tonumber(redis.call('LINDEX', starts, 0) or 0) > now then
    -- The clock was set back: starts count from now on, instead of for as long as the clock was ahead.
    local times = redis.call('LRANGE', starts, 0, rate - 1)
    redis.call('DEL', starts)
    for _, time in ipairs(times) do redis.call('RPUSH', starts, whole(math.min(tonumber(time), now))) end
    redis.call('PEXPIRE', starts, whole(span))
  end
  local function until_free(n)
    local nth = redis.call('LINDEX', starts, rate - n)
    return nth and math.max(0, tonumber(nth) + span - now) or 0
  end
  local allowed = math.min(wanted, rate)
  while allowed > 0 and until_free(allowed) > 0 do allowed = allowed - 1 end
  return allowed, allowed < wanted and until_free(allowed + 1) or 0
end

local function note_starts(call, request, count)
  local starts = K.starts(call, request.queue)
  for _ = 1, count do redis.call('LPUSH', starts, call.now_text) end
  redis.call('LTRIM', starts, 0, request.rate - 1)
  redis.call('PEXPIRE', starts, whole(request.span))
end

-- Of the first entries of a line, those before the first that is not of a kind: a turn, or a task for workers. An entry without a task is of
-- both, since it must not hold up the line.
local function leading(call, entries, kind)
  for n = 1, #entries, 2 do
    local state, turn = unpack(redis.call('HMGET', task_key(call, entries[n]), STATE, F.turn))
    if state and (turn and 'turns' or 'tasks') ~= kind then return { unpack(entries, 1, n - 1) } end
  end
  return entries
end

-- Takes the first entries (ids and scores) out of the line.
--   undecided  see Start.rekey
--   kind       in a queue with turns, which to take: "turns" or "tasks", as far as they are in front; otherwise nil
function Start.take(call, queue, count, keyed, undecided, kind)
  if count == 0 then return {} end
  if not keyed and not undecided and not kind then return redis.call('ZPOPMIN', K.waiting(call, queue), count) end
  local startable = keyed and K.startable(call, queue) or K.waiting(call, queue)
  local entries
  if undecided or kind then
    entries = redis.call('ZRANGEBYSCORE', startable, '-inf', undecided or '+inf', 'WITHSCORES', 'LIMIT', 0, count)
    if kind then entries = leading(call, entries, kind) end
    for n = 1, #entries, 2 do redis.call('ZREM', startable, entries[n]) end
  else
    entries = redis.call('ZPOPMIN', startable, count)
  end
  if keyed and #entries > 0 then
    local ids = {}
    for n = 1, #entries, 2 do ids[#ids + 1] = entries[n] end
    redis.call('ZREM', K.waiting(call, queue), unpack(ids))
  end
  return entries
end

-- Starts the tasks of some entries. There may be fewer than entries: the task of one may be gone or not waiting (memory evicted, a key
-- deleted by hand), which must not block the line.
--   last_fence  of the queue
--   keyed       whether the line is keyed
--   hand        nil for turns; called with each task and what its worker needs, see reserve.lua
-- Returns the ids of those that it has started, the last fence of the queue, and the first of theirs.
function Start.start(call, request, entries, last_fence, keyed, hand)
  local queue, suspect_lease, turn = request.queue, request.suspect_lease, request.turn
  local fence, first_fence, count = last_fence, nil, 0
  local ids, leases = { nil }, { nil, nil }
  local expiry = turn and Turns.end_of_lease(call.now, turn) or whole(call.now + request.lease)
  local worker_end, lane = Run.end_of_worker(request.worker), request.lane
  for n = 1, #entries, 2 do
    local id, score = entries[n], entries[n + 1]
    local key = task_key(call, id)
    local state, input, created, extra, listeners = unpack(redis.call('HMGET', key, STATE, INPUT, CREATED, EXTRA, LISTENERS))
    if state == WAITING then
      -- After the first, each fence is one more than the one before.
      fence = first_fence and fence + 1 or Run.next_fence(call, fence)
      first_fence = first_fence or fence
      count = count + 1
      local fence_text, attempts, until_when = whole(fence), '1', expiry
      local lost, media, query, caller, trace, group, run, joined, webhook, uncounted
      if extra == '1' then
        local of_key
        lost, media, query, caller, trace, run, of_key, group, joined, webhook, uncounted = unpack(redis.call(
          'HMGET', key, F.lost, F.mediaType, F.query, F.caller, F.trace, F.run, F.key, F.group, F.joined, F.webhook, F.uncountedLosses
        ))
        local _, _, before = Run.parts(run)
        if before then attempts = whole(before + 1) end
        if keyed and of_key then Keyed.start(call, queue, id, of_key) end
      elseif extra and keyed then
        -- It has no rare field but its key.
        Keyed.start(call, queue, id, extra)
      end
      redis.call('HSET', key, STATE, RUNNING, RUN, new_run(call, fence, fence_text, attempts, score, worker_end, request.ahead))
      if turn then
        Turns.call(call, id, listeners, webhook)
      else
        -- A worker over HTTP can renew without repeating the length.
        if not lane then redis.call('HSET', key, F.lease, request.lease) end
        if listeners then Notices.change(call, id, RUNNING, listeners) end
      end
      -- It has been with a worker that died: whether the handler has begun must be known if this one dies too.
      local unbegun = (lost or uncounted) and suspect_lease
      if unbegun then
        redis.call('HSET', key, F.unbegun, fence_text)
        until_when = whole(call.now + suspect_lease)
      end
      ids[count], leases[2 * count - 1], leases[2 * count] = id, until_when, id
      if group then Group.note(call, group, id) end
      if hand then
        local stood = run and 0 or call.now - Line.joined_at(score, created or call.now, joined)
        stood = stood > 0 and whole(stood) or '0'
        local announced = (group or webhook) and '1' or '0'
        hand(call, request, id, fence_text, attempts, lost, created, stood, announced, unbegun, input, media, query, caller, trace)
      end
    end
  end
  -- Only scores of fair lines have a fraction.
  if #entries > 0 and (Fair.is_fair(entries[2]) or Fair.is_fair(entries[#entries])) then Fair.pass(call, queue, entries) end
  if count > 0 then
    redis.call('ZADD', K.leases(call, queue), unpack(leases))
    if request.rate then note_starts(call, request, count) end
  end
  return ids, fence, first_fence
end

return Start
