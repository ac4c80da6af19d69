-- Keyed lines: at most `limit` tasks of a key run at a time, in the order of arrival. Only a queue whose handler is keyed has any of
-- this.
--
-- K.waiting has everyone. K.startable has those of them that may start, with the same scores: from it work is taken. K.keyLine is the
-- line of one key. The score of a task there is its arrival·16 + class (+ 8 in a fair line), or -1 if it is marked. The first `limit`
-- members hold the key or may start, and a waiting task is in K.startable if it is one of them, or has no key. A task holds its key while
-- it runs; if the limit is 1, from its start until it has ended or returned to the line without having used up an attempt.
--
-- A start does not change the line of the key: a member that does not wait holds the key. It is marked when another joins the line before
-- it, and one that holds its key while it waits for another attempt when it is due. Where the limit is not 1, or was not since the queue
-- was last empty, every start is marked, as the releases before did everywhere: they take only who is marked for a holder.
-- So holders are marked, or the first that is not.
--
-- Q.keyed is the limit, with a space behind it where it was changed since the queue was last empty.
--
-- F.key is "arrival name": when it joined the line (hlc; 0 as long as it is scheduled), and the name of the key ("=" or "#" first);
-- the arrival alone if it has none. F.extra is the same as long as the task has nothing else that is rare. What joined before the queue
-- was keyed has no such field, and arrived before all others.
local Keyed = {}

local NO_KEY = '1'

-- What is known and done in one call, of each queue: its limit (false if it is not keyed); whether that was changed; scores and ids of
-- tasks that may start, as long as they are not in K.startable; and whether nobody else could start before, so that free slots wait for
-- them.
local function state_of(call)
  local state = call.keyed
  if not state then
    state = { limits = {}, changed = {}, opening = {}, freed = {} }
    call.keyed = state
  end
  return state
end

-- The limit of a queue; false if it is not keyed. known: what has been read of it; nil to read it.
function Keyed.limit(call, queue, known)
  local state = state_of(call)
  if known == nil then
    if state.limits[queue] ~= nil then return state.limits[queue] end
    known = redis.call('HGET', K.queue(call, queue), Q.keyed)
  end
  local limit, space = string.match(known or '', '^(%d+)( ?)')
  state.limits[queue], state.changed[queue] = tonumber(limit) or false, space == ' '
  return state.limits[queue]
end

-- Whether the limit of a queue was changed since it was last empty.
function Keyed.is_changed(call, queue)
  Keyed.limit(call, queue)
  return state_of(call).changed[queue]
end

-- What is stored of the limit that a queue gets. empty: nothing of it waits, is scheduled or runs.
function Keyed.stored_limit(call, queue, limit, empty)
  local before = Keyed.limit(call, queue)
  return limit .. (before and not empty and (Keyed.is_changed(call, queue) or before ~= limit) and ' ' or '')
end

-- Arrival and name of the key of a task ("" for none); of the field, or what a submission says ("limit name").
function Keyed.parts(key)
  return string.match(key or NO_KEY, '^(%d+) ?(.*)$')
end

function Keyed.line(call, queue, name)
  return K.keyLine(call, queue) .. ' ' .. name
end

-- Lets a task start that waits in line at a score.
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

-- A small sorted set is a list that Redis reads from its beginning for each entry that is added. With an entry that is longer than
-- zset-max-listpack-value it becomes a tree, and remains one until it is empty.
local FEW, MANY, LONGEST_LIST = 8, 32, 128
local LONG_ENTRY = '-----------------------------------------------------------------'

-- Puts those into K.startable that may start: before anything else is done with it.
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

-- At the end of a call: tells workers of tasks that may start now. but: a queue of which they need not be told.
function Keyed.tell_freed(call, but)
  if not call.keyed then return end
  Keyed.open_freed(call)
  for queue, alone in pairs(call.keyed.freed) do
    if alone and queue ~= but then Notices.work(call, queue) end
  end
end

-- Lets the task start that has come to the last place of those that may, if it waits. waits: it is known to do so.
local function let_last_start(call, queue, line, limit, waits)
  local last = redis.call('ZRANGE', line, limit - 1, limit - 1, 'WITHSCORES')
  if not last[1] then return end
  local place = tonumber(last[2])
  local class, score = place % 16
  -- One that is marked may wait for another attempt; and the scores of fair lines are not those of arrival.
  if not waits or place < 0 or class >= 8 then
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

-- A task that has not waited before joins the line of its key, behind all others. Returns how many others are there, of which it waits
-- for all but `limit` - 1; 0 without a key.
function Keyed.enter(call, queue, id, name, arrival, score)
  if name == '' then return 0 end
  local line = Keyed.line(call, queue, name)
  redis.call('ZADD', line, Keyed.place_by_arrival(arrival, score), id)
  return redis.call('ZCARD', line) - 1
end

-- How many of a line are marked.
local function marked_in(line)
  return redis.call('ZCOUNT', line, '-inf', '(0')
end

-- Marks those that hold a key and stand behind a task that has joined its line. Returns the rank of the task.
local function mark_behind(call, queue, line, id)
  local marked, rank = marked_in(line), redis.call('ZRANK', line, id)
  if rank < marked then return rank end
  -- The task may have pushed back the last that may hold it.
  for _, other in ipairs(redis.call('ZRANGE', line, rank + 1, math.max(rank, marked + 1))) do
    if not redis.call('ZSCORE', K.waiting(call, queue), other) then
      redis.call('ZADD', line, -1, other)
      rank = rank + 1
    end
  end
  return rank
end

-- One that is behind the last that may start or hold the key may not start (any more).
function Keyed.close_pushed(call, queue, line, limit)
  local pushed = redis.call('ZRANGE', line, limit, limit)
  if pushed[1] then redis.call('ZREM', K.startable(call, queue), pushed[1]) end
end

-- A task has joined the line at a score: it may start, or waits for its key. One that is marked goes on holding it, if that is
-- wanted (holds), and else waits at its place by arrival.
function Keyed.join(call, queue, id, key, score, holds)
  local limit = Keyed.limit(call, queue)
  if not limit then return end
  local arrival, name = Keyed.parts(key)
  if name == '' then return open(call, queue, id, score) end
  local line, place = Keyed.line(call, queue, name), Keyed.place_by_arrival(arrival, score)
  if holds then redis.call('ZADD', line, 'NX', place, id) else redis.call('ZADD', line, place, id) end
  Keyed.open_freed(call)
  if mark_behind(call, queue, line, id) < limit then
    Keyed.close_pushed(call, queue, line, limit)
    open(call, queue, id, score)
  else
    -- Others of its key have come before it meanwhile.
    redis.call('ZREM', K.startable(call, queue), id)
    let_last_start(call, queue, line, limit)
  end
end

-- A stored task joins the line behind all others of its key, at a score and an arrival.
function Keyed.rejoin(call, queue, id, key, score, arrival)
  if key then
    key = string.gsub(key, '^%d+', arrival)
    redis.call('HSET', K.task(call, id), F.key, key, F.extra, '1')
  end
  Keyed.join(call, queue, id, key, score)
end

-- Whether others hold the key of a task that has not started, as many as may.
function Keyed.is_full(call, queue, id, state, key)
  local limit = Keyed.limit(call, queue)
  local _, name = Keyed.parts(key)
  if not limit or name == '' or not (state == S.waiting or state == S.scheduled or state == S.retrying) then return false end
  local line = Keyed.line(call, queue, name)
  local stands = redis.call('ZSCORE', line, id)
  if stands and (tonumber(stands) < 0 or state == S.retrying) then return false end
  local marked = marked_in(line)
  local holders = marked
  if holders < limit then
    local other = redis.call('ZRANGE', line, marked, marked)[1]
    if other and other ~= id and not redis.call('ZSCORE', K.waiting(call, queue), other) then holders = holders + 1 end
  end
  return holders >= limit
end

-- Whether a task that does not wait holds its key, as the line of the key says.
function Keyed.is_holder(call, queue, id, key, score)
  local arrival, name = Keyed.parts(key)
  local line = Keyed.line(call, queue, name)
  local stands = tonumber(redis.call('ZSCORE', line, id) or nil)
  if not stands or stands < 0 then return stands ~= nil end
  return stands == Keyed.place_by_arrival(arrival, score) and redis.call('ZRANK', line, id) == marked_in(line)
end

-- What the start of a waiting task depends on: how many that may start come before it, how many tasks of its key must end before, and
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

-- Whether a start is marked.
function Keyed.marks_starts(call, queue)
  return Keyed.limit(call, queue) ~= 1 or Keyed.is_changed(call, queue)
end

-- A task that has waited for another attempt joins the line: if it has held its key meanwhile, it goes on until that attempt has ended.
function Keyed.keep(call, queue, id, key)
  local _, name = Keyed.parts(key)
  if name ~= '' then redis.call('ZADD', Keyed.line(call, queue, name), 'XX', -1, id) end
end

-- A task that held its key has ended, or waits for another attempt without holding it: the next of its key may start.
function Keyed.free(call, queue, id, key)
  local space = string.find(key, ' ', 1, true)
  if not space then return end
  local line, limit = K.keyLine(call, queue) .. string.sub(key, space), Keyed.limit(call, queue)
  if redis.call('ZREM', line, id) == 1 and limit then
    -- Under a limit of 1 all along the one that may start now has not held the key.
    let_last_start(call, queue, line, limit, limit == 1 and not Keyed.is_changed(call, queue))
  end
end

-- A task leaves the line of its key, whether it holds the key or not.
function Keyed.leave_line(call, queue, id, name)
  local line, limit = Keyed.line(call, queue, name), Keyed.limit(call, queue)
  if redis.call('ZREM', line, id) == 1 and limit then let_last_start(call, queue, line, limit) end
end

-- A task leaves the line and that of its key.
function Keyed.leave(call, queue, id, key)
  Keyed.open_freed(call)
  redis.call('ZREM', K.startable(call, queue), id)
  local _, name = Keyed.parts(key)
  if name ~= '' then Keyed.leave_line(call, queue, id, name) end
end

-- A task that waits or is scheduled gets another key, "" for none; its place and its arrival stay.
function Keyed.change(call, queue, id, state, key, name)
  local score = state == S.waiting and redis.call('ZSCORE', K.waiting(call, queue), id)
  -- Of one that joined before the queue was keyed the place says when.
  key = key or string.format('%.0f', score and math.floor(score % C.classSpan) or 0)
  local arrival, before = Keyed.parts(key)
  if before == name then return end
  if score then Keyed.leave(call, queue, id, key) end
  key = name == '' and arrival or arrival .. ' ' .. name
  redis.call('HSET', K.task(call, id), F.key, key, F.extra, '1')
  if score then Keyed.join(call, queue, id, key, score) end
end

return Keyed
