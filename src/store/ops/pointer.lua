-- Pointers to tasks and groups whose ids do not lead to the partition of their queue. A pointer is written in the partition of the id before
-- the task is submitted to the other. An id therefore has at most one task, which is found by its id alone.

local whole = Number.whole

local function point(call, item, check)
  local id, queue, caller, home = item.id, item.queue, item.caller, whole(item.home)
  local key, pointers = K.task(call, id), K.pointers(call)
  local known_queue, known_home, known_caller = unpack(redis.call('HMGET', key, F.queue, F.home, F.caller))
  if not known_queue then
    redis.call('HSET', key, F.queue, queue, F.home, home)
    if caller ~= '' then redis.call('HSET', key, F.caller, caller) end
    redis.call('ZADD', pointers, whole(check), id)
    return { verdict = 'new', score = whole(check) }
  end
  if known_queue ~= queue or known_home ~= home then return { verdict = (known_caller or '') == caller and 'taken' or 'foreign' } end
  -- With another score, so that the first caller does not delete it now.
  redis.call('ZADD', pointers, whole(math.max(check, 1 + (redis.call('ZSCORE', pointers, id) or 0))), id)
  return { verdict = 'noted' }
end

-- Writes pointers to tasks that will be stored. Returns a verdict for each: "new" and the score by which `repoint` deletes it, unless it
-- has been written again; "noted" if there already was one; "taken": the id has a task of another queue;
-- "foreign": and of another caller.
register('point', {}, function(call, asked)
  return Call.each(call, asked.items, point, call.now + asked.checkMs)
end)

local function home_of(call, id)
  return tonumber(redis.call('HGET', K.task(call, id), F.home) or nil) or cjson.null
end

-- If the score has changed in the meantime, the id is in use again, or another caller checks it.
local function note_check(call, item)
  local id, next_check = item.id, item.nextMs
  local pointers, key = K.pointers(call), K.task(call, id)
  if redis.call('ZSCORE', pointers, id) ~= item.score then return end
  if not next_check then
    redis.call('ZREM', pointers, id)
    if redis.call('HEXISTS', key, F.home) == 1 then redis.call('UNLINK', key) end
  else
    redis.call('ZADD', pointers, whole(call.now + next_check), id)
  end
end

-- Deletes pointers to tasks that have gone. Returns, as lists, the pointers to check now.
register('repoint', { 'allow-oom' }, function(call, asked)
  for _, checked in ipairs(asked.checked) do note_check(call, checked) end
  local due, claimed = {}, whole(call.now + asked.claimMs)
  for n, id in ipairs(redis.call('ZRANGEBYSCORE', K.pointers(call), '-inf', call.now_text, 'LIMIT', 0, asked.limit)) do
    redis.call('ZADD', K.pointers(call), claimed, id)
    due[n] = { id = id, score = claimed, home = home_of(call, id) }
  end
  return due
end)

-- Returns the partition of each task that is not in that of its id; nothing if it is in this one, or unknown.
register('home', { 'no-writes' }, function(call, asked)
  return Call.each(call, asked.items, home_of)
end)
