-- Keyed lines: at most `limit` tasks of a key run at a time, in the order of arrival. Only a queue whose handler is keyed has any of
-- this; its limit is Q.keyed.
--
-- K.waiting has everyone. K.startable has those of them that may start, with the same scores: from it work is taken. K.keyLine is the
-- line of one key: the score of a task that waits is its arrival, of one that holds the key the negative of that. So the first
-- `limit` members hold the key or may start, and a waiting task is in K.startable if it is one of them, or has no key. A task holds
-- its key while it runs; if the limit is 1, from its start until it has ended or returned to the line without having used up an attempt.
--
-- F.key is "arrival name": when it joined the line (hlc; 0 as long as it is scheduled), and the name of the key ("=" or "#" first);
-- the arrival alone if it has none. What joined before the queue was keyed has no such field, and arrived before all others.
local NO_KEY = '1'

local limits = {}
-- The limit of a queue; false if it is not keyed. known: what has been read of it.
local function key_limit(queue, known)
  if known ~= nil then limits[queue] = tonumber(known) or false end
  if limits[queue] == nil then limits[queue] = tonumber(redis.call('HGET', K.queue(queue), Q.keyed)) or false end
  return limits[queue]
end

local function parts_of_key(key)
  return string.match(key, '^(%d+) ?(.*)$')
end

local function key_line(queue, name)
  return K.keyLine(queue) .. ' ' .. name
end

-- Lets a task start that waits in line at a score.
local function add_startable(queue, id, score)
  redis.call('ZADD', K.startable(queue), score, id)
  if freed[queue] == nil then freed[queue] = redis.call('ZCARD', K.startable(queue)) == 1 end
end

-- The same of a task, if any, that may have left the line.
local function let_start(queue, id)
  local score = id and redis.call('ZSCORE', K.waiting(queue), id)
  if score then add_startable(queue, id, score) end
end

-- A task that has not waited before joins the line of its key, behind all others. Returns whether it may start.
local function enter_key(queue, id, name, arrival, limit)
  if name == '' then return true end
  local line = key_line(queue, name)
  redis.call('ZADD', line, arrival, id)
  return redis.call('ZCARD', line) <= limit
end

-- A task has joined the line at a score: it may start, or waits for its key. One that still holds its key goes on holding it, if that is
-- wanted (holds), and else waits at its place by arrival.
local function join_key(queue, id, key, score, holds)
  local limit = key_limit(queue)
  if not limit then return end
  local arrival, name = parts_of_key(key or NO_KEY)
  if name == '' then return add_startable(queue, id, score) end
  local line = key_line(queue, name)
  if holds then redis.call('ZADD', line, 'NX', arrival, id) else redis.call('ZADD', line, arrival, id) end
  if redis.call('ZRANK', line, id) < limit then
    add_startable(queue, id, score)
    local pushed = redis.call('ZRANGE', line, limit, limit)
    if pushed[1] then redis.call('ZREM', K.startable(queue), pushed[1]) end
  else
    -- Others of its key have come before it meanwhile.
    redis.call('ZREM', K.startable(queue), id)
    let_start(queue, redis.call('ZRANGE', line, limit - 1, limit - 1)[1])
  end
end

-- Whether others hold the key of a task that has not started, as many as may.
local function key_is_full(queue, id, state, key)
  local limit = key_limit(queue)
  local _, name = parts_of_key(key)
  if not limit or name == '' or not (state == S.waiting or state == S.scheduled or state == S.retrying) then return false end
  local line = key_line(queue, name)
  local stands = redis.call('ZSCORE', line, id)
  if stands and tonumber(stands) < 0 then return false end
  return redis.call('ZCOUNT', line, '-inf', '(0') >= limit
end

-- A task of a key has been taken.
local function hold_key(queue, id, key)
  local arrival, name = parts_of_key(key)
  if name ~= '' then redis.call('ZADD', key_line(queue, name), '-' .. arrival, id) end
end

-- A task has ended, or waits for another attempt without holding its key: the next of its key may start.
local function free_key(queue, id, key)
  local _, name = parts_of_key(key)
  if name == '' then return end
  local line = key_line(queue, name)
  if redis.call('ZREM', line, id) == 0 then return end
  local limit = key_limit(queue)
  if limit then let_start(queue, redis.call('ZRANGE', line, limit - 1, limit - 1)[1]) end
end

-- A task leaves the line without having been started.
local function leave_key(queue, id, key)
  redis.call('ZREM', K.startable(queue), id)
  free_key(queue, id, key)
end

-- A stored task joins the line behind all others of its key, at a score and an arrival.
local function rejoin_key(queue, id, key, score, arrival)
  if key then
    key = string.gsub(key, '^%d+', arrival)
    redis.call('HSET', K.task(id), F.key, key)
  end
  join_key(queue, id, key, score)
end

-- A task that waits or is scheduled gets another key, "" for none; its place and its arrival stay.
local function change_key(queue, id, state, key, name)
  local arrival, before = parts_of_key(key)
  if before == name then return end
  if state == S.waiting then leave_key(queue, id, key) end
  key = name == '' and arrival or arrival .. ' ' .. name
  redis.call('HSET', K.task(id), F.key, key)
  if state == S.waiting then join_key(queue, id, key, redis.call('ZSCORE', K.waiting(queue), id)) end
end
