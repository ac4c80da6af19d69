-- Takes the first waiting tasks of a queue for a worker, each under a lease and a fence; or hands them back again. A repeated reservation
-- gets the same tasks, so that a lost reply loses no work.

local REQUEST, ANSWER, RARE = Layout.reserve.args, Layout.reserve.answer, Layout.reserve.rare
local whole = Number.whole

-- Maximum bytes of an input in the answer.
local INSIDE = 16384

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

-- Returns, besides the tasks, how many still wait (in a keyed queue, how many that may start), -1 while the queue is paused or a worker
-- over HTTP is quiet (others ask for nothing then); for how many
-- ms the rate allows no more; and the verdicts on the completions that travelled with it, see complete.lua.
register_hot('reserve', { 'allow-oom' }, function(keys, args)
  local call, request = Call.new(keys), read_request(args)
  local queue, counters = request.queue, K.queue(call, request.queue)

  -- First the completions of the worker, which read and write the same hash.
  local field = request.lane or Q.quiet .. request.worker
  local verdicts, q, writes, ended = Complete.tasks(call, args, REQUEST.width, queue, field)
  if not q then
    q, writes = redis.call('HMGET', counters, Q.paused, Q.fence, Q.keyed, Q.rekey, Q.setRate, Q.total, Q.setTotal, field), {}
  end
  request.writes = writes
  local paused, fence, limit, rekey_from, set_rate, last = q[1], q[2], q[3], q[4], q[5], q[8]
  local total = Total.of(q[6], q[7])
  local quiet = not request.lane and last == '1'
  if set_rate then
    local max, span = string.match(set_rate, '^(%d+) (%d+)$')
    request.rate, request.span = tonumber(max), tonumber(span)
  end

  local first_again, ids_again = recall(call, request, last)
  if ids_again then
    if total and ended then Total.note(call, queue) end
    hand_again(call, request, first_again, ids_again)
    return answer(call, request, redis.call('ZCARD', K.waiting(call, queue)), 0, verdicts)
  end
  if quiet then Total.note(call, queue) end
  if paused == '1' or quiet then return answer(call, request, -1, 0, verdicts) end

  local keyed = limit and Keyed.limit(call, queue, limit)
  local startable = keyed and K.startable(call, queue) or K.waiting(call, queue)
  local undecided = rekey_from and Start.rekey(call, queue, rekey_from) or nil
  -- Tasks that the completions have freed may start too.
  Keyed.write(call)
  local count, pause = request.count, 0
  local room = total and Total.room(call, queue, total)
  if room then count = math.min(count, room) end
  local is_full = total and count < request.count
  if request.rate then
    local wanted = count
    count, pause = Start.allowed_by_rate(call, request, wanted)
    -- No end wakes anybody for what only the rate holds back.
    is_full = is_full and count == wanted
  end

  local kind = Total.longest_turn(q[6]) and 'tasks'
  local entries = Start.take(call, queue, count, keyed, undecided, kind)
  local ids, last_fence, first_fence = Start.start(call, request, entries, tonumber(fence or 0), keyed, hand)
  local started = #ids
  if started > 0 then
    write(request, Q.fence, whole(last_fence))
    remember(call, request, first_fence, ids)
  end
  -- Others were told that as many run as may: what this worker leaves of the slots that it has freed is theirs.
  if room and ended and room <= ended and started < room then Total.note(call, queue) end
  -- What comes next may be a turn.
  if kind and (ended or started > 0) then Total.note(call, queue) end
  if started < #entries / 2 then redis.call('HINCRBY', counters, Q.healed, #entries / 2 - started) end
  -- Fewer than requested, so the line is empty. Where as many run as may, whoever ends one wakes those that wait for work.
  local left = (is_full or #entries < 2 * count) and 0 or redis.call('ZCARD', startable)
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
