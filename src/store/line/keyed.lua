-- Keyed lines: at most `limit` tasks of a line key run at a time, in the order of arrival. The line of a queue is keyed while its handler
-- is keyed, or has a `limit` of tasks for each caller; only then it has Q.keyed, the limit.
--
-- The invariant, which every verb keeps by means of Keyed.put, Keyed.start and Keyed.free, and which verify.lua proves:
--   1. The line of a key (K.keyLine) has exactly the tasks of that key that have not ended: first those that hold the key, with the score
--      HELD; then those that wait for it, with their arrival; then those that are due later, with DUE_LATER + when they are due.
--   2. A task holds its key while it runs. If it has F.holds, it also holds it between two attempts.
--   3. K.startable has exactly the waiting tasks that may start, with their scores in K.waiting: those without a key, and those among the
--      first `limit` in the line of their key.
-- The third is decided anew after a change of the limit: Q.rekey is the score in K.waiting from which that is still to be done.
--
-- F.key is "arrival name": when the task joined the line (hlc; 0 as long as it is scheduled), and the name of the key ("=" or "#" first);
-- the arrival alone if it has none. F.extra is the same while the task has no other rare field. Tasks that joined before the queue was
-- keyed have no such field.
local Keyed = {}

local whole = Number.whole
-- The score of a task that holds its key; and what is above every arrival. Redis takes text faster than a number.
local HELD, DUE_LATER = '-1', C.classSpan
Keyed.held = HELD

-- The state of a queue in one call: its limit (false if it is not keyed); what the lines of its keys begin with; the place of the last task
-- among the first `limit`; what has been decided of tasks: whether they may start as soon as they wait; and whether no other task could
-- start before, so that free slots wait for them.
--   known  the stored limit if it has been read; nil to read it
local function state_of(call, queue, known)
  local states = call.keyed
  if not states then
    states = {}
    call.keyed = states
  end
  local state = states[queue]
  if not state then
    state = { limit = nil, last = nil, line = K.keyLine(call, queue) .. ' ', decided = nil, alone = nil }
    states[queue] = state
    if known == nil then known = redis.call('HGET', K.queue(call, queue), Q.keyed) end
  end
  if known ~= nil then
    state.limit = tonumber(known) or false
    state.last = state.limit and whole(state.limit - 1)
  end
  return state
end

-- The limit of a queue; false if it is not keyed. known: the stored limit if it has been read; nil to read it.
function Keyed.limit(call, queue, known)
  return state_of(call, queue, known).limit
end

-- Arrival and name of a task's line key ("" for none).
function Keyed.parts(key)
  return string.match(key or '0', '^(%d+) ?(.*)$')
end

-- Parses what a submission says about its key, "limit name" or "limit/most name": the limit, the name ("" for none), and how many tasks of
-- the key may wait, nil for any number.
function Keyed.asked(key)
  local limit, most, name = string.match(key, '^(%d+)/?(%d*) ?(.*)$')
  return tonumber(limit), name, tonumber(most)
end

local function line_of(call, queue, name)
  return state_of(call, queue).line .. name
end

-- The score of a task in the line of its key; nil for a task that is not there.
function Keyed.place(call, queue, id, name)
  return tonumber(redis.call('ZSCORE', line_of(call, queue, name), id) or nil)
end

-- The score of a task that is due later.
function Keyed.due_later(due)
  return whole(DUE_LATER + due)
end

function Keyed.is_due_later(place)
  return place >= DUE_LATER
end

local function decide(state, id, may_start)
  local decided = state.decided
  if not decided then
    decided = {}
    state.decided = decided
  end
  decided[id] = may_start
end

-- Redis scans a small sorted set for each entry that is added, unless the set has once had an entry longer than zset-max-listpack-value.
local FEW, MANY, LONGEST_LIST = 8, 32, 128
local LONG_ENTRY = '-----------------------------------------------------------------'

local function write(call, queue, state)
  local decided, startable, ids, count, entries, length, others = state.decided, K.startable(call, queue), {}, 0, {}, 0, {}
  for id in pairs(decided) do
    count = count + 1
    ids[count] = id
  end
  local scores, before = redis.call('ZMSCORE', K.waiting(call, queue), unpack(ids)), redis.call('ZCARD', startable)
  for n = 1, count do
    local id, score = ids[n], scores[n]
    if score and decided[id] then
      entries[length + 1], entries[length + 2] = score, id
      length = length + 2
    else
      others[#others + 1] = id
    end
  end
  if #others > 0 and before > 0 then redis.call('ZREM', startable, unpack(others)) end
  if length >= 2 * FEW and before >= MANY and before <= LONGEST_LIST then
    redis.call('ZADD', startable, 0, LONG_ENTRY)
    redis.call('ZREM', startable, LONG_ENTRY)
  end
  if length > 0 then
    if state.alone == nil then state.alone = before == 0 end
    redis.call('ZADD', startable, unpack(entries))
  end
  state.decided = nil
end

-- Writes what has been decided; call it before any other use of K.startable.
function Keyed.write(call)
  for queue, state in pairs(call.keyed or {}) do
    if state.decided then write(call, queue, state) end
  end
end

-- At the end of a call, writes what has been decided, and notifies workers of tasks that may start now. but: a queue for which that is not
-- needed.
function Keyed.close(call, but)
  if not call.keyed then return end
  Keyed.write(call)
  for queue, state in pairs(call.keyed) do
    if state.alone and queue ~= but then Notices.work(call, queue) end
  end
end

-- Whether a task is among the first `limit` of its key, or has none.
function Keyed.is_among_first(call, queue, id, name)
  local limit = Keyed.limit(call, queue)
  return name == '' or (redis.call('ZRANK', line_of(call, queue, name), id) or limit) < limit
end

-- Decides whether a task may start once it waits.
function Keyed.decide(call, queue, id, key)
  if not Keyed.limit(call, queue) then return end
  local _, name = Keyed.parts(key)
  decide(state_of(call, queue), id, Keyed.is_among_first(call, queue, id, name))
end

-- A new task comes into the line of its key at a score. Returns how many others are before it; it waits for all but `limit` - 1 of them.
function Keyed.enter(call, queue, id, name, place)
  if name == '' then return 0 end
  local line = line_of(call, queue, name)
  redis.call('ZADD', line, place, id)
  return redis.call('ZRANK', line, id)
end

-- A task comes to another score in the line of its key: Keyed.held, Keyed.due_later or, if left out, that of its arrival.
function Keyed.put(call, queue, id, key, place)
  local state = state_of(call, queue)
  if not state.limit then return end
  local arrival, name = Keyed.parts(key)
  if name ~= '' then
    local line = state.line .. name
    redis.call('ZADD', line, place or arrival, id)
    -- One may have come among the first `limit`, and one may have left them.
    local last, next_one = unpack(redis.call('ZRANGE', line, state.last, state.limit))
    if last then decide(state, last, true) end
    if next_one then decide(state, next_one, false) end
  end
  Keyed.decide(call, queue, id, key)
end

-- A stored task joins the line after all others of its key.
function Keyed.rejoin(call, queue, id, key, arrival)
  if not key then return Keyed.put(call, queue, id) end
  local record = K.task(call, id)
  -- It has none if the queue is a plain one by now.
  redis.call('HDEL', record, F.key)
  redis.call('HSET', record, F.extra, '1')
  if not Keyed.limit(call, queue) then return end
  key = string.gsub(key, '^%d+', arrival)
  redis.call('HSET', record, F.key, key)
  Keyed.put(call, queue, id, key)
end

-- A task that may start does so: it holds its key. It was among the first, so nothing changes for others.
function Keyed.start(call, queue, id, key)
  local space = string.find(key, ' ', 1, true)
  if space then redis.call('ZADD', state_of(call, queue).line .. string.sub(key, space + 1), HELD, id) end
end

-- A running task has ended, or any other has left the line of its key: the next one may start.
function Keyed.free(call, queue, id, key)
  local space, state = string.find(key, ' ', 1, true), state_of(call, queue)
  if not space then return end
  local line = state.line .. string.sub(key, space + 1)
  redis.call('ZREM', line, id)
  local last = state.limit and redis.call('ZRANGE', line, state.last, state.last)[1]
  if last then decide(state, last, true) end
end

-- A task leaves the line of its key, whether it may start or not.
function Keyed.leave(call, queue, id, key)
  decide(state_of(call, queue), id, false)
  Keyed.free(call, queue, id, key)
end

-- A task that waits or is scheduled gets another key, "" for none; its place and its arrival stay. Returns why not: see Keyed.refusal.
function Keyed.change(call, queue, id, state, key, name, most)
  if not Keyed.limit(call, queue) then return nil end
  local arrival, before = Keyed.parts(key)
  if before == name then return nil end
  local refusal = Keyed.refusal(call, queue, name, most)
  if refusal then return refusal end
  if not key and state == S.waiting then
    -- It joined before the queue was keyed: its place says when that was.
    arrival = whole(math.floor(redis.call('ZSCORE', K.waiting(call, queue), id) % C.classSpan))
  end
  if key then Keyed.leave(call, queue, id, key) end
  key = name == '' and arrival or arrival .. ' ' .. name
  redis.call('HSET', K.task(call, id), F.key, key, F.extra, '1')
  Keyed.put(call, queue, id, key, state ~= S.waiting and Keyed.due_later(redis.call('ZSCORE', K.scheduled(call, queue), id) or 0))
  return nil
end

local function holders_in(line)
  return redis.call('ZCOUNT', line, HELD, HELD)
end

-- Why a key takes no further task: nil if fewer than `most` of it wait or are due later, or there is no `most`. Else "too-many", what
-- an estimate needs of the task that leaves them first (state, index, nothing, when it is due, its turn), `most`, and how many wait and run.
function Keyed.refusal(call, queue, name, most)
  if not most or name == '' or not Keyed.limit(call, queue) then return nil end
  local line = line_of(call, queue, name)
  local running = holders_in(line)
  local waiting = redis.call('ZCARD', line) - running
  if waiting < most then return nil end
  local first = redis.call('ZRANGE', line, running, running)[1]
  local rank = redis.call('ZRANK', K.waiting(call, queue), first)
  local due = redis.call('ZSCORE', K.scheduled(call, queue), first)
  local place = S.scheduled .. '  ' .. (due and whole(due - call.now) or '') .. '   '
  if rank then
    local score = redis.call('ZSCORE', K.waiting(call, queue), first)
    place = S.waiting .. ' ' .. whole(rank) .. '  ' .. Keyed.turn(call, queue, first, '0 ' .. name, score)
  end
  return 'too-many ' .. place .. ' ' .. most .. ' ' .. waiting .. ' ' .. running
end

-- Whether as many others as allowed hold the line key of a task that has not started.
function Keyed.is_full(call, queue, id, state, key)
  local limit = Keyed.limit(call, queue)
  local _, name = Keyed.parts(key)
  if not limit or name == '' or not (state == S.waiting or state == S.scheduled or state == S.retrying) then return false end
  return Keyed.place(call, queue, id, name) ~= tonumber(HELD) and holders_in(line_of(call, queue, name)) >= limit
end

-- What the start of a waiting task depends on: how many tasks that may start come before it, how many of its line key must end first, and
-- how many of these run at once.
function Keyed.turn(call, queue, id, key, score)
  local limit = Keyed.limit(call, queue)
  local _, name = Keyed.parts(key)
  local before = redis.call('ZCOUNT', K.startable(call, queue), '-inf', '(' .. score)
  local rank = name ~= '' and redis.call('ZRANK', line_of(call, queue, name), id) or 0
  return before .. ' ' .. math.max(0, rank - limit + 1) .. ' ' .. limit
end

return Keyed
