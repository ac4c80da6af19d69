-- Takes the first waiting tasks of a queue for a worker, each under a lease and a fence; or hands them back again. A repeated reservation
-- gets the same tasks, so that a lost reply loses no work.

local REQUEST, ANSWER, RARE = Layout.reserve.args, Layout.reserve.answer, Layout.reserve.rare
local whole = Number.whole

-- Maximum bytes of an input in the answer.
local INSIDE = 16384
-- Maximum number of tasks for which one call decides anew whether they may start.
local REKEYED = 200
local STATE, INPUT, CREATED, EXTRA, LISTENERS, RUN = F.state, F.input, F.created, F.extra, F.listeners, F.run
local WAITING, RUNNING = S.waiting, S.running
local task_key, new_run = K.task, Run.new

-- A request with its outcome: `tasks` and `length`, the list of tasks in the answer and its length; `writes`, fields and values for the
-- queue's hash, which is read and written once. One over HTTP has a sender instead of a lane.
local function read_request(args)
  local worker, lane, rate, suspect_lease = args[REQUEST.worker], args[REQUEST.lane], args[REQUEST.max], args[REQUEST.suspectLeaseMs]
  return {
    queue = args[REQUEST.queue],
    worker = worker,
    reservation = args[REQUEST.reservation],
    count = tonumber(args[REQUEST.count]),
    lease = args[REQUEST.leaseMs],
    rate = rate ~= '0' and tonumber(rate) or nil,
    span = tonumber(args[REQUEST.perMs]),
    suspect_lease = suspect_lease ~= '0' and suspect_lease,
    ahead = args[REQUEST.ahead] == '1',
    lane = Reservation.lane_field(worker, lane),
    sender = lane,
    -- Preallocated for one task, since a table that grows costs more.
    tasks = { nil, nil },
    length = 0,
    writes = nil,
  }
end

local function write(request, field, value)
  local writes = request.writes
  local length = #writes
  writes[length + 1], writes[length + 2] = field, value
end

-- Hands out a task: "id fence attempt lost created stood announced unbegun" and its input join the list in the answer; stood: for how
-- many ms it has been in line, 0 unless it is taken for the first time; announced: 1 if a webhook or a group may hear of its end, else 0;
-- unbegun: 1 if its worker is to report that it begins, else 0. If it has rare members, the first string ends in " +" and they follow, ""
-- for each that it does not have.
local function hand(call, request, id, fence, attempts, lost, created, stood, announced, unbegun, input, media, query, caller, trace)
  local tasks, length, more = request.tasks, request.length, media or query or caller or trace
  tasks[length + 1] = id .. ' ' .. fence .. ' ' .. attempts .. ' ' .. (lost or '0') .. ' ' .. (created or '0') .. ' ' .. stood
    .. ' ' .. announced .. (unbegun and ' 1' or ' 0') .. (more and ' +' or '')
  tasks[length + 2] = input or Input.inline(K.task(call, id)) or Result.value_or_length(K.input(call, id), INSIDE)
  if more then
    local at = length + 2
    tasks[at + RARE.mediaType], tasks[at + RARE.query] = media or '', query or ''
    tasks[at + RARE.caller], tasks[at + RARE.trace] = caller or '', trace or ''
    length = length + RARE.width
  end
  request.length = length + 2
end

-- Writes the pending changes, sends the notices, and returns the answer.
local function answer(call, request, waiting, pause, verdicts)
  if #request.writes > 0 then redis.call('HSET', K.queue(call, request.queue), unpack(request.writes)) end
  -- The caller needs no notice of tasks that it has taken, or that the answer mentions.
  Settle.close(call, waiting == 0 and request.queue)
  local reply = { nil, nil, nil, nil }
  reply[ANSWER.tasks], reply[ANSWER.waiting], reply[ANSWER.pauseMs] = request.tasks, waiting, pause == 0 and 0 or whole(pause)
  reply[ANSWER.verdicts] = verdicts
  return reply
end

-- The tasks that this reservation got before: their first fence, and their ids; nothing if it is new.
local function recall(call, request, last)
  if not request.lane then
    return Reservation.recall(call, request.queue, request.worker, request.reservation, request.sender)
  end
  if last and string.find(last, request.reservation .. ' ', 1, true) == 1 then
    return string.match(last, '^(%d+) (.*)$', #request.reservation + 2)
  end
end

-- Returns its earlier tasks again, if they are still held. The fences of one reservation are consecutive.
local function hand_again(call, request, first, ids)
  local nth = tonumber(first)
  for id in string.gmatch(ids, '%S+') do
    local state, run, unbegun, input, lost, created, media, query, caller, trace = unpack(redis.call(
      'HMGET', K.task(call, id), F.state, F.run, F.unbegun, F.input, F.lost, F.created, F.mediaType, F.query, F.caller, F.trace
    ))
    local fence, _, attempts = Run.parts(run)
    -- A task that was lost and taken again in the meantime, even by this worker in another lane, has another fence.
    if state == S.running and fence == whole(nth) then
      hand(call, request, id, fence, attempts, lost, created, '0', '1', unbegun == fence, input, media, query, caller, trace)
      -- The worker counts the lease from this answer, but much of the first lease has passed while the reply was lost.
      local lease = unbegun == fence and request.suspect_lease or request.lease
      redis.call('ZADD', K.leases(call, request.queue), whole(call.now + lease), id)
    end
    nth = nth + 1
  end
end

-- Remembers its tasks: the first fence and the ids.
local function remember(call, request, first, ids)
  local got = whole(first) .. ' ' .. table.concat(ids, ' ')
  if request.lane then
    write(request, request.lane, request.reservation .. ' ' .. got)
  else
    Reservation.keep(call, request.queue, request.worker, request.reservation, request.sender, got, request.lease)
  end
end

-- After a change of the limit for each line key, decides which tasks in line from a score on may start, some of them in each call. Returns
-- the score up to which this is decided now, nil if for all.
local function rekey(call, queue, from)
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

-- How many tasks the rate allows to start now, and for how many ms no more. K.starts has the times of the last starts, as many as the
-- rate allows in a span: one more may start when the oldest of them is a span ago. This holds for every span, where counting by the
-- clock would let twice as many through around its edges.
local function allowed_by_rate(call, request)
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
  local allowed = math.min(request.count, rate)
  while allowed > 0 and until_free(allowed) > 0 do allowed = allowed - 1 end
  return allowed, allowed < request.count and until_free(allowed + 1) or 0
end

local function note_starts(call, request, count)
  local starts = K.starts(call, request.queue)
  for _ = 1, count do redis.call('LPUSH', starts, call.now_text) end
  redis.call('LTRIM', starts, 0, request.rate - 1)
  redis.call('PEXPIRE', starts, whole(request.span))
end

-- Takes the first entries (ids and scores) out of the line.
--   undecided  see rekey
local function take(call, queue, count, keyed, undecided)
  if count == 0 then return {} end
  if not keyed and not undecided then return redis.call('ZPOPMIN', K.waiting(call, queue), count) end
  local startable = keyed and K.startable(call, queue) or K.waiting(call, queue)
  local entries
  if undecided then
    entries = redis.call('ZRANGEBYSCORE', startable, '-inf', undecided, 'WITHSCORES', 'LIMIT', 0, count)
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

-- Starts the tasks of some entries. Returns how many there were: the task of an entry may be gone or not waiting (memory evicted, a key
-- deleted by hand), which must not block the line.
--   last_fence  of the queue
--   keyed       whether the line is keyed
local function start(call, request, entries, last_fence, keyed)
  local queue, suspect_lease = request.queue, request.suspect_lease
  local fence, first_fence, count = last_fence, nil, 0
  local ids, leases = { nil }, { nil, nil }
  local expiry, worker_end, lane = whole(call.now + request.lease), Run.end_of_worker(request.worker), request.lane
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
      -- A worker over HTTP can renew without repeating the length.
      if not lane then redis.call('HSET', key, F.lease, request.lease) end
      -- It has been with a worker that died: whether the handler has begun must be known if this one dies too.
      local unbegun = (lost or uncounted) and suspect_lease
      if unbegun then
        redis.call('HSET', key, F.unbegun, fence_text)
        until_when = whole(call.now + suspect_lease)
      end
      ids[count], leases[2 * count - 1], leases[2 * count] = id, until_when, id
      if group then Group.note(call, group, id) end
      if listeners then Notices.change(call, id, RUNNING, listeners) end
      local stood = run and 0 or call.now - Line.joined_at(score, created or call.now, joined)
      stood = stood > 0 and whole(stood) or '0'
      local announced = (group or webhook) and '1' or '0'
      hand(call, request, id, fence_text, attempts, lost, created, stood, announced, unbegun, input, media, query, caller, trace)
    end
  end
  -- Only scores of fair lines have a fraction.
  if #entries > 0 and (Fair.is_fair(entries[2]) or Fair.is_fair(entries[#entries])) then Fair.pass(call, queue, entries) end
  if count > 0 then
    redis.call('ZADD', K.leases(call, queue), unpack(leases))
    write(request, Q.fence, whole(fence))
    if request.rate then note_starts(call, request, count) end
    remember(call, request, first_fence, ids)
  end
  return count
end

-- Returns, besides the tasks, how many still wait (in a keyed queue, how many that may start), -1 while the queue is paused or a worker
-- over HTTP is quiet (others ask for nothing then); for how many
-- ms the rate allows no more; and the verdicts on the completions that travelled with it, see complete.lua.
register_hot('reserve', { 'allow-oom' }, function(keys, args)
  local call, request = Call.new(keys), read_request(args)
  local queue, counters = request.queue, K.queue(call, request.queue)

  -- First the completions of the worker, which read and write the same hash.
  local field = request.lane or Q.quiet .. request.worker
  local verdicts, q, writes = Complete.tasks(call, args, REQUEST.width, queue, field)
  if not q then q, writes = redis.call('HMGET', counters, Q.paused, Q.fence, Q.keyed, Q.rekey, Q.setRate, field), {} end
  request.writes = writes
  local paused, fence, limit, rekey_from, set_rate, last = q[1], q[2], q[3], q[4], q[5], q[6]
  local quiet = not request.lane and last == '1'
  if set_rate then
    local max, span = string.match(set_rate, '^(%d+) (%d+)$')
    request.rate, request.span = tonumber(max), tonumber(span)
  end

  local first_again, ids_again = recall(call, request, last)
  if ids_again then
    hand_again(call, request, first_again, ids_again)
    return answer(call, request, redis.call('ZCARD', K.waiting(call, queue)), 0, verdicts)
  end
  if paused == '1' or quiet then return answer(call, request, -1, 0, verdicts) end

  local keyed = limit and Keyed.limit(call, queue, limit)
  local startable = keyed and K.startable(call, queue) or K.waiting(call, queue)
  local undecided = rekey_from and rekey(call, queue, rekey_from) or nil
  -- Tasks that the completions have freed may start too.
  Keyed.write(call)
  local count, pause = request.count, 0
  if request.rate then count, pause = allowed_by_rate(call, request) end

  local entries = take(call, queue, count, keyed, undecided)
  local started = start(call, request, entries, tonumber(fence or 0), keyed)
  if started < #entries / 2 then redis.call('HINCRBY', counters, Q.healed, #entries / 2 - started) end
  -- Fewer than requested, so the line is empty.
  local left = #entries < 2 * count and 0 or redis.call('ZCARD', startable)
  -- Here, since the worker that was woken for them may stand still: an idle one that waits gets what is left.
  if left > 0 and started > 0 then redis.call('ZADD', K.wake(call, queue), 0, '1') end
  return answer(call, request, undecided and math.max(1, left) or left, pause, verdicts)
end)

-- Hands back the tasks of a request over HTTP, unless another sender of it may have got them. Returns "handed-back", also if there was
-- nothing, or "shared".
register('unreserve', { 'allow-oom' }, function(call, asked)
  local queue, retention = asked.queue, Result.retention(call, asked.keepMs, asked.tombstoneMs)
  local first, ids = Reservation.forget(call, queue, asked.worker, asked.reservation, asked.sender)
  if first == false then return 'shared' end
  local nth = tonumber(first or 0)
  for id in string.gmatch(ids or '', '%S+') do
    local state, run = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run))
    local fence = Run.parts(run)
    if state == S.running and fence == whole(nth) then Lease.undo_reservation(call, queue, id, retention) end
    nth = nth + 1
  end
  Settle.close(call)
  return 'handed-back'
end)
