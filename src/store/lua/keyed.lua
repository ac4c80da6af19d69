-- Keyed lines: at most `limit` tasks of a key run at a time, in the order of arrival. Only a queue whose handler is keyed has any of
-- this.
--
-- K.waiting has all waiting tasks. K.startable has those of them that may start, with the same scores; work is taken from it. K.keyLine is
-- the line of one line key. The score of a task there is its arrival·16 + class (+ 8 in a fair line), or -1 if it is marked. The first
-- `limit` members hold the key or may start, and a waiting task is in K.startable if it is one of them, or has no key. A task holds its key
-- while it runs; if the limit is 1, from its start until it has ended or returned to the line without having used up an attempt.
--
-- A task that holds the key is marked.
--
-- Q.keyed is the limit, then " /" in a counted line.
--
-- A counted line is that of a handler with `limit`: the line of a key has all of its tasks that have not ended, so that they can be counted.
-- A scheduled or retrying task is parked there: its score is C.parked + when it is due. It holds nothing.
--
-- F.key is "arrival name": when it joined the line (hlc; 0 as long as it is scheduled), and the name of the key ("=" or "#" first);
-- the arrival alone if it has none. F.extra is the same while the task has no other rare field. Tasks that joined before the queue was
-- keyed have no such field, and count as arrived before all others.
local Keyed = {}

local whole = Number.whole

local NO_KEY = '1'

-- The state of each queue in one call: its limit (false if it is not keyed); whether the line is counted; scores and ids of tasks that may
-- start but are not in K.startable yet; and whether no other task could start before, so that free slots wait for them.
local function state_of(call)
  local state = call.keyed
  if not state then
    state = { limits = {}, counted = {}, opening = {}, freed = {} }
    call.keyed = state
  end
  return state
end

-- The limit of a queue; false if it is not keyed. known: the stored limit if it has been read; nil to read it.
function Keyed.limit(call, queue, known)
  local state = state_of(call)
  if known == nil then
    if state.limits[queue] ~= nil then return state.limits[queue] end
    known = redis.call('HGET', K.queue(call, queue), Q.keyed)
  end
  local limit, slash = string.match(known or '', '^(%d+) ?(/?)')
  state.limits[queue], state.counted[queue] = tonumber(limit) or false, slash == '/'
  return state.limits[queue]
end

-- Whether the line of a queue is counted.
function Keyed.is_counted(call, queue)
  Keyed.limit(call, queue)
  return state_of(call).counted[queue]
end

-- The stored form of a queue's limit.
function Keyed.stored_limit(limit, counted)
  return limit .. (counted and ' /' or '')
end

-- Arrival and name of a task's line key ("" for none).
function Keyed.parts(key)
  return string.match(key or NO_KEY, '^(%d+) ?(.*)$')
end

-- Parses what a submission says about its key, "limit name" or "limit/most name": the limit, the name ("" for none), whether the line is
-- counted, and how many tasks of the key may wait there, nil for any number.
function Keyed.asked(key)
  local limit, slash, most, name = string.match(key, '^(%d+)(/?)(%d*) ?(.*)$')
  return tonumber(limit), name, slash == '/', tonumber(most)
end

function Keyed.line(call, queue, name)
  return K.keyLine(call, queue) .. ' ' .. name
end

-- Allows a task that waits in line at a score to start.
local function open(call, queue, id, score)
  local opening = state_of(call).opening
  local entries = opening[queue]
  if not entries then
    entries = {}
    opening[queue] = entries
  end
  local length = #entries
  entries[length + 1], entries[length + 2] = score, id
end

-- A small sorted set is a list that Redis scans for each added entry. An entry longer than zset-max-listpack-value turns it into a tree
-- until it is empty.
local FEW, MANY, LONGEST_LIST = 8, 32, 128
local LONG_ENTRY = '-----------------------------------------------------------------'

-- Puts freed tasks into K.startable; call it before any other use of that key.
function Keyed.open_freed(call)
  local state = call.keyed
  if not state then return end
  for queue, entries in pairs(state.opening) do
    local startable = K.startable(call, queue)
    local before = redis.call('ZCARD', startable)
    if state.freed[queue] == nil then state.freed[queue] = before == 0 end
    if #entries >= 2 * FEW and before >= MANY and before <= LONGEST_LIST then
      redis.call('ZADD', startable, 0, LONG_ENTRY)
      redis.call('ZREM', startable, LONG_ENTRY)
    end
    redis.call('ZADD', startable, unpack(entries))
    state.opening[queue] = nil
  end
end

-- At the end of a call, notifies workers of tasks that may start now. but: a queue for which that is not needed.
function Keyed.tell_freed(call, but)
  if not call.keyed then return end
  Keyed.open_freed(call)
  for queue, alone in pairs(call.keyed.freed) do
    if alone and queue ~= but then Notices.work(call, queue) end
  end
end

-- Allows the task at the last place of those that may start to do so, if it waits.
local function let_last_start(call, queue, line, limit)
  local last = redis.call('ZRANGE', line, limit - 1, limit - 1, 'WITHSCORES')
  if not last[1] then return end
  local place = tonumber(last[2])
  local class, score = place % 16
  -- A marked or parked task may not wait, and the scores of fair lines are not those of arrival.
  if place < 0 or place >= C.parked or class >= 8 then
    score = redis.call('ZSCORE', K.waiting(call, queue), last[1])
  else
    score = class * C.classSpan + (place - class) / 16
  end
  if score then open(call, queue, last[1], score) end
end

-- The score of a task in the line of its key.
function Keyed.place_by_arrival(arrival, score)
  return arrival * 16 + math.floor(score / C.classSpan) + (score % 1 == 0 and 0 or 8)
end

-- A new task joins the line of its line key, after all others. Returns how many others are there; it waits for all but `limit` - 1 of them.
-- 0 without a line key.
function Keyed.enter(call, queue, id, name, arrival, score)
  if name == '' then return 0 end
  local line = Keyed.line(call, queue, name)
  redis.call('ZADD', line, Keyed.place_by_arrival(arrival, score), id)
  return redis.call('ZRANK', line, id)
end

-- The number of marked members of a line.
local function marked_in(line)
  return redis.call('ZCOUNT', line, '-inf', '(0')
end

-- Whether a member of the line of a key is parked there.
function Keyed.is_parked(line, id)
  return tonumber(redis.call('ZSCORE', line, id) or 0) >= C.parked
end

-- In a counted line, a task that waits until it is due stays in the line of its key, behind those that may start.
function Keyed.park(call, queue, id, key, due)
  local _, name = Keyed.parts(key)
  if name == '' or not Keyed.is_counted(call, queue) then return end
  redis.call('ZADD', Keyed.line(call, queue, name), whole(C.parked + due), id)
end

-- Why a key takes no further task into a counted line: nil if fewer than `most` wait or are due later. Else "too-many", what
-- an estimate needs of the task that leaves them first (state, index, nothing, when it is due, its turn), `most`, and how many wait and run.
function Keyed.refusal(call, queue, name, most)
  if not most or name == '' or not Keyed.limit(call, queue) then return nil end
  local line = Keyed.line(call, queue, name)
  local running = marked_in(line)
  local waiting = redis.call('ZCARD', line) - running
  if waiting < most then return nil end
  Keyed.open_freed(call)
  local first = redis.call('ZRANGE', line, running, running)[1]
  local rank = redis.call('ZRANK', K.waiting(call, queue), first)
  local due = redis.call('ZSCORE', K.scheduled(call, queue), first)
  local place = S.scheduled .. '   ' .. (due and whole(due - call.now) or '') .. '   '
  if rank then
    local score = redis.call('ZSCORE', K.waiting(call, queue), first)
    place = S.waiting .. ' ' .. whole(rank) .. '   ' .. Keyed.turn(call, queue, first, '0 ' .. name, score)
  end
  return 'too-many ' .. place .. ' ' .. most .. ' ' .. waiting .. ' ' .. running
end

-- A task after the last one that may start or hold the key may not start (any more).
function Keyed.close_pushed(call, queue, line, limit)
  local pushed = redis.call('ZRANGE', line, limit, limit)
  if pushed[1] then redis.call('ZREM', K.startable(call, queue), pushed[1]) end
end

-- A task has joined the line at a score: it may start, or waits for its line key. A marked task keeps holding it if `holds`, and otherwise
-- waits at its place by arrival.
function Keyed.join(call, queue, id, key, score, holds)
  local limit = Keyed.limit(call, queue)
  if not limit then return end
  local arrival, name = Keyed.parts(key)
  if name == '' then return open(call, queue, id, score) end
  local line, place = Keyed.line(call, queue, name), Keyed.place_by_arrival(arrival, score)
  if holds then redis.call('ZADD', line, 'LT', place, id) else redis.call('ZADD', line, place, id) end
  Keyed.open_freed(call)
  if redis.call('ZRANK', line, id) < limit then
    Keyed.close_pushed(call, queue, line, limit)
    open(call, queue, id, score)
  else
    -- Others of its line key have come before it in the meantime.
    redis.call('ZREM', K.startable(call, queue), id)
    let_last_start(call, queue, line, limit)
  end
end

-- A stored task joins the line after all others of its line key, at a score and an arrival.
function Keyed.rejoin(call, queue, id, key, score, arrival)
  if key then
    key = string.gsub(key, '^%d+', arrival)
    redis.call('HSET', K.task(call, id), F.key, key, F.extra, '1')
  end
  Keyed.join(call, queue, id, key, score)
end

-- Whether as many others as allowed hold the line key of a task that has not started.
function Keyed.is_full(call, queue, id, state, key)
  local limit = Keyed.limit(call, queue)
  local _, name = Keyed.parts(key)
  if not limit or name == '' or not (state == S.waiting or state == S.scheduled or state == S.retrying) then return false end
  local line = Keyed.line(call, queue, name)
  local stands = tonumber(redis.call('ZSCORE', line, id) or C.parked)
  if stands < 0 or (state == S.retrying and stands < C.parked) then return false end
  return marked_in(line) >= limit
end

-- What the start of a waiting task depends on: how many tasks that may start come before it, how many of its line key must end first, and
-- how many of these run at once.
function Keyed.turn(call, queue, id, key, score)
  local limit = Keyed.limit(call, queue)
  local _, name = Keyed.parts(key)
  local before = redis.call('ZCOUNT', K.startable(call, queue), '-inf', '(' .. score)
  local rank = name ~= '' and redis.call('ZRANK', Keyed.line(call, queue, name), id) or 0
  return before .. ' ' .. math.max(0, rank - limit + 1) .. ' ' .. limit
end

-- Marks a task as one that holds its key.
function Keyed.mark_holder(call, queue, id, key)
  local _, name = Keyed.parts(key)
  if name ~= '' then redis.call('ZADD', Keyed.line(call, queue, name), -1, id) end
end

-- A task that held its key waits for another attempt, until it is due. With a limit of 1 it keeps the key.
function Keyed.retry(call, queue, id, key, due)
  if Keyed.limit(call, queue) == 1 and not Keyed.is_counted(call, queue) then return end
  Keyed.free(call, queue, id, key)
  Keyed.park(call, queue, id, key, due)
end

-- A task that held its key has ended, or waits for another attempt without holding it: the next of its key may start.
function Keyed.free(call, queue, id, key)
  local space = string.find(key, ' ', 1, true)
  if not space then return end
  local line, limit = K.keyLine(call, queue) .. string.sub(key, space), Keyed.limit(call, queue)
  if redis.call('ZREM', line, id) == 1 and limit then let_last_start(call, queue, line, limit) end
end

-- A task leaves the line of its key, whether it holds the key or not.
function Keyed.leave_line(call, queue, id, name)
  local line, limit = Keyed.line(call, queue, name), Keyed.limit(call, queue)
  if redis.call('ZREM', line, id) == 1 and limit then let_last_start(call, queue, line, limit) end
end

-- A task leaves the line and the line of its line key.
function Keyed.leave(call, queue, id, key)
  Keyed.open_freed(call)
  redis.call('ZREM', K.startable(call, queue), id)
  local _, name = Keyed.parts(key)
  if name ~= '' then Keyed.leave_line(call, queue, id, name) end
end

-- A task that waits or is scheduled gets another key, "" for none; its place and its arrival stay. Returns why not: see Keyed.refusal.
function Keyed.change(call, queue, id, state, key, name, most)
  local score = state == S.waiting and redis.call('ZSCORE', K.waiting(call, queue), id)
  -- For a task that joined before the queue was keyed, its place says when that was.
  key = key or string.format('%.0f', score and math.floor(score % C.classSpan) or 0)
  local arrival, before = Keyed.parts(key)
  if before == name then return nil end
  local refusal = Keyed.refusal(call, queue, name, most)
  if refusal then return refusal end
  Keyed.leave(call, queue, id, key)
  key = name == '' and arrival or arrival .. ' ' .. name
  redis.call('HSET', K.task(call, id), F.key, key, F.extra, '1')
  if score then
    Keyed.join(call, queue, id, key, score)
  else
    Keyed.park(call, queue, id, key, redis.call('ZSCORE', K.scheduled(call, queue), id) or 0)
  end
  return nil
end

return Keyed
