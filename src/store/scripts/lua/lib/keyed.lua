-- Keyed lines: at most `limit` tasks of a key run at a time, in the order of arrival. Only a queue whose handler is keyed has any of
-- this. Needs freed.
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
-- the arrival alone if it has none. F.extra is the same as long as the task has nothing else that is rare. What joined before the queue was keyed has no such field, and arrived before all others.
local NO_KEY = '1'

local limits, changed = {}, {}
-- The limit of a queue; false if it is not keyed. known: what has been read of it.
local function key_limit(queue, known)
  if known == nil then
    if limits[queue] ~= nil then return limits[queue] end
    known = redis.call('HGET', K.queue(queue), Q.keyed)
  end
  local limit, space = string.match(known or '', '^(%d+)( ?)')
  limits[queue], changed[queue] = tonumber(limit) or false, space == ' '
  return limits[queue]
end

-- What is stored of the limit that a queue gets. empty: nothing of it waits, is scheduled or runs.
local function stored_limit(queue, limit, empty)
  local before = key_limit(queue)
  return limit .. (before and not empty and (changed[queue] or before ~= limit) and ' ' or '')
end

local function parts_of_key(key)
  return string.match(key, '^(%d+) ?(.*)$')
end

local function key_line(queue, name)
  return K.keyLine(queue) .. ' ' .. name
end

-- Lets a task start that waits in line at a score.
local function add_startable(queue, id, score)
  local entries = opening[queue]
  if not entries then
    entries = {}
    opening[queue] = entries
  end
  local length = #entries
  entries[length + 1], entries[length + 2] = score, id
end

-- Lets the task start that has come to the last place of those that may, if it waits. waits: it is known to do so.
local function let_last_start(queue, line, limit, waits)
  local last = redis.call('ZRANGE', line, limit - 1, limit - 1, 'WITHSCORES')
  if not last[1] then return end
  local place, score = tonumber(last[2]), nil
  local class = place % 16
  -- One that is marked may wait for another attempt; and the scores of fair lines are not those of arrival.
  if not waits or place < 0 or class >= 8 then
    score = redis.call('ZSCORE', K.waiting(queue), last[1])
  else
    score = class * C.classSpan + (place - class) / 16
  end
  if score then add_startable(queue, last[1], score) end
end

-- The score of a task in the line of its key.
local function place_by_arrival(arrival, score)
  return arrival * 16 + math.floor(score / C.classSpan) + (score % 1 == 0 and 0 or 8)
end

-- A task that has not waited before joins the line of its key, behind all others. Returns how many others are there, of which it waits
-- for all but `limit` - 1; 0 without a key.
local function enter_key(queue, id, name, arrival, score)
  if name == '' then return 0 end
  local line = key_line(queue, name)
  redis.call('ZADD', line, place_by_arrival(arrival, score), id)
  return redis.call('ZCARD', line) - 1
end

-- How many of a line are marked.
local function marked_in(line)
  return redis.call('ZCOUNT', line, '-inf', '(0')
end

-- Marks those that hold a key and stand behind a task that has joined its line. Returns the rank of the task.
local function mark_behind(queue, line, id)
  local marked, rank = marked_in(line), redis.call('ZRANK', line, id)
  if rank < marked then return rank end
  -- The task may have pushed back the last that may hold it.
  for _, other in ipairs(redis.call('ZRANGE', line, rank + 1, math.max(rank, marked + 1))) do
    if not redis.call('ZSCORE', K.waiting(queue), other) then
      redis.call('ZADD', line, -1, other)
      rank = rank + 1
    end
  end
  return rank
end

-- A task has joined the line at a score: it may start, or waits for its key. One that is marked goes on holding it, if that is
-- wanted (holds), and else waits at its place by arrival.
local function join_key(queue, id, key, score, holds)
  local limit = key_limit(queue)
  if not limit then return end
  local arrival, name = parts_of_key(key or NO_KEY)
  if name == '' then return add_startable(queue, id, score) end
  local line, place = key_line(queue, name), place_by_arrival(arrival, score)
  if holds then redis.call('ZADD', line, 'NX', place, id) else redis.call('ZADD', line, place, id) end
  open_freed()
  if mark_behind(queue, line, id) < limit then
    local pushed = redis.call('ZRANGE', line, limit, limit)
    if pushed[1] then redis.call('ZREM', K.startable(queue), pushed[1]) end
    add_startable(queue, id, score)
  else
    -- Others of its key have come before it meanwhile.
    redis.call('ZREM', K.startable(queue), id)
    let_last_start(queue, line, limit)
  end
end

-- Whether others hold the key of a task that has not started, as many as may.
local function key_is_full(queue, id, state, key)
  local limit = key_limit(queue)
  local _, name = parts_of_key(key)
  if not limit or name == '' or not (state == S.waiting or state == S.scheduled or state == S.retrying) then return false end
  local line = key_line(queue, name)
  local stands = redis.call('ZSCORE', line, id)
  if stands and (tonumber(stands) < 0 or state == S.retrying) then return false end
  local marked = marked_in(line)
  local holders = marked
  if holders < limit then
    local other = redis.call('ZRANGE', line, marked, marked)[1]
    if other and other ~= id and not redis.call('ZSCORE', K.waiting(queue), other) then holders = holders + 1 end
  end
  return holders >= limit
end

-- Whether a task that does not wait holds its key, as the line of the key says.
local function is_holder(queue, id, key, score)
  local arrival, name = parts_of_key(key)
  local line = key_line(queue, name)
  local stands = tonumber(redis.call('ZSCORE', line, id) or nil)
  if not stands or stands < 0 then return stands ~= nil end
  return stands == place_by_arrival(arrival, score) and redis.call('ZRANK', line, id) == marked_in(line)
end

-- What the start of a waiting task depends on: how many that may start come before it, how many tasks of its key must end before, and
-- how many of these run at once.
local function turn_of(queue, id, key, score)
  local limit = key_limit(queue)
  local _, name = parts_of_key(key)
  local before = redis.call('ZCOUNT', K.startable(queue), '-inf', '(' .. score)
  local rank = name ~= '' and redis.call('ZRANK', key_line(queue, name), id) or 0
  return before .. ' ' .. math.max(0, rank - limit + 1) .. ' ' .. limit
end

-- Marks a task as one that holds its key.
local function mark_holder(queue, id, key)
  local _, name = parts_of_key(key)
  if name ~= '' then redis.call('ZADD', key_line(queue, name), -1, id) end
end

-- Whether a start is marked.
local function marks_starts(queue)
  return key_limit(queue) ~= 1 or changed[queue]
end

-- A task that has waited for another attempt joins the line: if it has held its key meanwhile, it goes on until that attempt has ended.
local function keep_key(queue, id, key)
  local _, name = parts_of_key(key)
  if name ~= '' then redis.call('ZADD', key_line(queue, name), 'XX', -1, id) end
end

-- A task that held its key has ended, or waits for another attempt without holding it: the next of its key may start.
local function free_key(queue, id, key)
  local space = string.find(key, ' ', 1, true)
  if not space then return end
  local line, limit = K.keyLine(queue) .. string.sub(key, space), key_limit(queue)
  if redis.call('ZREM', line, id) == 1 and limit then
    -- Under a limit of 1 all along the one that may start now has not held the key.
    let_last_start(queue, line, limit, limit == 1 and not changed[queue])
  end
end

-- A task leaves the line of its key, whether it holds the key or not.
local function leave_key_line(queue, id, name)
  local line, limit = key_line(queue, name), key_limit(queue)
  if redis.call('ZREM', line, id) == 1 and limit then let_last_start(queue, line, limit) end
end

-- A task leaves the line and that of its key.
local function leave_key(queue, id, key)
  open_freed()
  redis.call('ZREM', K.startable(queue), id)
  local _, name = parts_of_key(key)
  if name ~= '' then leave_key_line(queue, id, name) end
end

-- A stored task joins the line behind all others of its key, at a score and an arrival.
local function rejoin_key(queue, id, key, score, arrival)
  if key then
    key = string.gsub(key, '^%d+', arrival)
    redis.call('HSET', K.task(id), F.key, key, F.extra, '1')
  end
  join_key(queue, id, key, score)
end

-- A task that waits or is scheduled gets another key, "" for none; its place and its arrival stay.
local function change_key(queue, id, state, key, name)
  local score = state == S.waiting and redis.call('ZSCORE', K.waiting(queue), id)
  -- Of one that joined before the queue was keyed the place says when.
  key = key or string.format('%.0f', score and math.floor(score % C.classSpan) or 0)
  local arrival, before = parts_of_key(key)
  if before == name then return end
  if score then leave_key(queue, id, key) end
  key = name == '' and arrival or arrival .. ' ' .. name
  redis.call('HSET', K.task(id), F.key, key, F.extra, '1')
  if score then join_key(queue, id, key, score) end
end
