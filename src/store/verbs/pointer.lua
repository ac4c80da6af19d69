-- Pointers to tasks and groups whose ids do not lead to the partition of their queue. A pointer is written in the partition of the id before
-- the task is submitted to the other. An id therefore has at most one task, which is found by its id alone.

local whole = Number.whole
local POINT, REPOINT, HOME = Layout.point, Layout.repoint, Layout.home
local POINTER, CHECKED, DUE = POINT.item, REPOINT.item, REPOINT.due

local function point(call, args, at, check)
  local id, queue, caller, home = args[at + POINTER.id], args[at + POINTER.queue], args[at + POINTER.caller], args[at + POINTER.home]
  local key, pointers = K.task(call, id), K.pointers(call)
  local known_queue, known_home, known_caller = unpack(redis.call('HMGET', key, F.queue, F.home, F.caller))
  if not known_queue then
    redis.call('HSET', key, F.queue, queue, F.home, home)
    if caller ~= '' then redis.call('HSET', key, F.caller, caller) end
    redis.call('ZADD', pointers, whole(check), id)
    return 'new ' .. whole(check)
  end
  if known_queue ~= queue or known_home ~= home then return (known_caller or '') == caller and 'taken' or 'foreign' end
  -- With another score, so that the first caller does not delete it now.
  redis.call('ZADD', pointers, whole(math.max(check, 1 + (redis.call('ZSCORE', pointers, id) or 0))), id)
  return 'noted'
end

-- Writes pointers to tasks that will be stored. Returns a verdict for each: "new" and the score by which `repoint` deletes it, unless it
-- has been written again; "noted" if there already was one; "taken": the id has a task of another queue;
-- "foreign": and of another caller.
register('point', {}, function(keys, args)
  local call = Call.new(keys)
  return Call.each(call, args, POINT, point, call.now + tonumber(args[POINT.args.checkMs]))
end)

-- If the score has changed in the meantime, the id is in use again, or another caller checks it.
local function note_check(call, args, at)
  local id, next_check = args[at + CHECKED.id], args[at + CHECKED.nextMs]
  local pointers, key = K.pointers(call), K.task(call, id)
  if redis.call('ZSCORE', pointers, id) ~= args[at + CHECKED.score] then return end
  if next_check == '' then
    redis.call('ZREM', pointers, id)
    if redis.call('HEXISTS', key, F.home) == 1 then redis.call('UNLINK', key) end
  else
    redis.call('ZADD', pointers, whole(call.now + tonumber(next_check)), id)
  end
end

-- Deletes pointers to tasks that have gone. Returns, as lists, the pointers to check now.
register('repoint', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), REPOINT.args
  Call.each(call, args, REPOINT, note_check)

  local due, claimed = {}, whole(call.now + tonumber(args[ARGS.claimMs]))
  local limit = tonumber(args[ARGS.limit])
  for n, id in ipairs(redis.call('ZRANGEBYSCORE', K.pointers(call), '-inf', call.now_text, 'LIMIT', 0, limit)) do
    redis.call('ZADD', K.pointers(call), claimed, id)
    due[n] = { [DUE.id] = id, [DUE.score] = claimed, [DUE.home] = redis.call('HGET', K.task(call, id), F.home) or '' }
  end
  return due
end)

local function home(call, args, at)
  return redis.call('HGET', K.task(call, args[at + HOME.item.id]), F.home) or ''
end

-- Returns the partition of each task that is not in that of its id; "" if it is in this one, or unknown.
register('home', { 'no-writes' }, function(keys, args)
  return Call.each(Call.untimed(keys), args, HOME, home)
end)
