-- What happened to the deployment: the latest events, the states that last, and the workers that are present. All in partition 0.

local whole = Number.whole
-- The events that are kept; how many of the latest are looked through for a resent call; and how many tasks of a lost worker are named.
local MAX_EVENTS, RECENT, MAX_TASKS = 1000, 20, 10
-- For how long a lost worker is listed, and for how long the tasks that a worker has lost are remembered, ms.
local LISTED_MS, LOSSES_MS = 3600000, 60000
-- If nobody has looked for this long, ms, heartbeats could not arrive either: workers then get this long to send one.
local GAP_MS, GRACE_MS = 12000, 15000
-- Maximum number of lost workers in one answer, and of tasks that are remembered of each.
local MAX_WORKERS, MAX_LOSSES = 100, 1000
-- Programs that lease tasks over HTTP choose their names, perhaps another one with each request: of their events so many are kept, and while
-- so many workers are present no further one of them is told of.
local MAX_REMOTE, MAX_PRESENT = 200, 1000
-- How many versions of the handlers are remembered.
local MAX_DEPLOYS = 50
-- One that has asked for no work for this long, ms, has stopped: it may ask only now and then.
local SILENT_MS = 600000
-- A store that has room again was full until it has refused nothing for this long, ms: one that stays at its limit is one event.
local CALM_MS = 30000
-- A process that has looked for incidents is the one that does for this long, ms: three times as long as it pauses between two looks.
local WATCH_MS = 15000

local function add(call, text, id)
  return redis.call('XADD', K.events(call), 'MAXLEN', MAX_EVENTS, '*', 'event', text, 'call', id or '')
end

-- The same of a program over HTTP: the oldest such event leaves if there are too many.
local function add_of_remote(call, text)
  local own, id = K.remoteEvents(call), add(call, text)
  if redis.call('RPUSH', own, id) <= MAX_REMOTE then return end
  redis.call('XDEL', K.events(call), redis.call('LINDEX', own, 0))
  redis.call('LTRIM', own, 1, -1)
end

-- Whether a call with this id has added one of the latest events.
local function was_added(call, id)
  for _, entry in ipairs(redis.call('XREVRANGE', K.events(call), '+', '-', 'COUNT', RECENT)) do
    if entry[2][4] == id then return true end
  end
  return false
end

-- Whether the store was away at a time of which nobody has told yet: each process that lost it tells.
local function is_new_absence(call, lasted)
  local told = tonumber(redis.call('HGET', K.states(call), 'away') or 0)
  if call.now - lasted <= told then return false end
  redis.call('HSET', K.states(call), 'away', call.now_text)
  return true
end

-- Notes an event. If it begins or ends a state, only the first call that says so does. Returns nothing.
register('note', { 'allow-oom' }, function(call, asked)
  local state, phase, id = asked.state, asked.phase, asked.call
  if phase == 'begins' then
    if redis.call('HSETNX', K.states(call), state, asked.value) == 0 then return end
  elseif phase == 'ends' then
    if redis.call('HDEL', K.states(call), state) == 0 then return end
  elseif phase == 'lasted' then
    if not is_new_absence(call, asked.value) then return end
  elseif was_added(call, id) then
    return
  end
  if asked.event ~= '' then add(call, asked.event, id) end
end)

-- A worker starts, perhaps the first one with another version of the handlers: while a deploy goes on, there are workers of both.
local function note_version(call, worker, about)
  local version = about ~= '' and cjson.decode(about).app
  local latest = redis.call('LINDEX', K.deploys(call), 0)
  if not version or (latest and string.match(latest, '^%d+ (.*)$') == version) then return end
  local others = redis.call('HGETALL', K.presentAbout(call))
  for n = 1, #others, 2 do
    local is_other = others[n] ~= worker and others[n + 1] ~= '' and redis.call('ZSCORE', K.present(call), others[n])
    if is_other and cjson.decode(others[n + 1]).app == version then return end
  end
  if redis.call('LPUSH', K.deploys(call), call.now_text .. ' ' .. version) > MAX_DEPLOYS then redis.call('RPOP', K.deploys(call)) end
  add(call, cjson.encode({ kind = 'deployed', detail = version }))
end

-- A worker is present for `ttlMs`, or leaves. `event` tells that it has started, or stopped. Returns nothing.
register('present', { 'allow-oom' }, function(call, asked)
  local worker, ttl, is_remote, present = asked.worker, asked.ttlMs, asked.remote, K.present(call)
  local known = redis.call('ZSCORE', present, worker)
  if ttl > 0 then
    if is_remote and not known and redis.call('ZCARD', present) >= MAX_PRESENT then return end
    redis.call('ZADD', present, whole(call.now + ttl), worker)
    if known then return end
    redis.call('HSET', K.presentAbout(call), worker, asked.about)
    redis.call('ZREM', K.lost(call), worker)
  else
    redis.call('ZREM', present, worker)
    redis.call('HDEL', K.presentAbout(call), worker)
    if not known then return end
  end
  if is_remote then return add_of_remote(call, asked.event) end
  add(call, asked.event)
  if ttl > 0 then note_version(call, worker, asked.about) end
end)

-- Deletes the lost workers that are listed no longer.
local function delete_old(call)
  local old = redis.call('ZRANGEBYSCORE', K.lost(call), '-inf', whole(call.now - LISTED_MS), 'LIMIT', 0, MAX_WORKERS)
  if #old == 0 then return end
  redis.call('ZREM', K.lost(call), unpack(old))
  redis.call('HDEL', K.presentAbout(call), unpack(old))
end

-- Returns the workers whose heartbeats are overdue, and the states that last with their values.
register('overdue', { 'allow-oom' }, function(call)
  local states, present = K.states(call), K.present(call)
  local looked, grace = unpack(redis.call('HMGET', states, 'looked', 'grace'))
  if not looked or call.now - tonumber(looked) > GAP_MS then
    grace = whole(call.now + GRACE_MS)
    redis.call('HSET', states, 'grace', grace)
  end
  redis.call('HSET', states, 'looked', call.now_text)
  delete_old(call)
  local workers = {}
  if tonumber(grace or 0) <= call.now then
    workers = redis.call('ZRANGEBYSCORE', present, '-inf', call.now_text, 'LIMIT', 0, MAX_WORKERS)
  end
  return { workers = workers, states = redis.call('HGETALL', states) }
end)

-- Sums up what the store has refused since it is full.
local function read_refusals(call, key)
  local since, latest, count = call.now, call.now, 0
  local fields = redis.call('HGETALL', key)
  for n = 1, #fields, 2 do
    local name, value = fields[n], tonumber(fields[n + 1])
    if name == 'since' then since = value elseif name == 'latest' then latest = value else count = count + value end
  end
  return since, latest, count
end

-- A process tells how many submissions the store has refused it since it is full, if these are more than it has told; and whether there is
-- room now. Returns for how long the store has been full, ms, and how many it has refused to all processes; 0 and 0 if it is not.
register('full', { 'allow-oom' }, function(call, asked)
  local key = K.refusals(call)
  if asked.refused > 0 then
    if redis.call('HSETNX', key, 'since', call.now_text) == 1 then add(call, cjson.encode({ kind = 'store-full' })) end
    redis.call('HSET', key, 'latest', call.now_text, ':' .. asked.process, asked.refused)
  end
  local since, latest, count = read_refusals(call, key)
  if count > 0 and asked.hasRoom and call.now - latest >= CALM_MS then
    redis.call('DEL', key)
    local seconds = whole(math.ceil((latest - since) / 1000))
    local detail = 'after ' .. seconds .. ' s, in which ' .. whole(count) .. ' submissions were refused'
    add(call, cjson.encode({ kind = 'store-drained', detail = detail }))
    since, count = call.now, 0
  end
  return { lastedMs = call.now - since, refused = count }
end)

-- Fails with the error of Redis unless a submission has room: a call of a function without `allow-oom` is refused as a whole, and its
-- variant without writes fails here. Returns nothing.
register('room', {}, function(call)
  redis.call('DEL', K.probe(call))
end)

-- A worker is lost, with these tasks and those that it has lost lately. A program that leases tasks over HTTP does not say that it stops:
-- without tasks it has, if it stays silent. The fraction of a score marks one that has been silent since. Returns nothing.
register('workerLost', { 'allow-oom' }, function(call, asked)
  local worker = asked.worker
  local expiry = tonumber(redis.call('ZSCORE', K.present(call), worker) or nil)
  if not expiry or expiry > call.now then return end
  local losses = K.losses(call, asked.workerEnd)
  local tasks, count = redis.call('ZRANGE', losses, 0, MAX_TASKS - 1), redis.call('ZCARD', losses)
  for _, id in ipairs(asked.ids) do
    count = count + 1
    if #tasks < MAX_TASKS then tasks[#tasks + 1] = id end
  end
  local about = redis.call('HGET', K.presentAbout(call), worker)
  local is_remote = about and cjson.decode(about).kind == 'remote'
  if count == 0 and is_remote and expiry % 1 == 0 then
    redis.call('ZADD', K.present(call), whole(call.now + SILENT_MS) .. '.5', worker)
    return
  end
  redis.call('DEL', losses)
  redis.call('ZREM', K.present(call), worker)
  if count == 0 and is_remote then
    redis.call('HDEL', K.presentAbout(call), worker)
    return add_of_remote(call, cjson.encode({ kind = 'worker-stopped', worker = worker }))
  end
  redis.call('ZADD', K.lost(call), call.now_text, worker)
  local event = { kind = 'worker-lost', worker = worker, count = count }
  if count > 0 then event.tasks = tasks end
  if is_remote then add_of_remote(call, cjson.encode(event)) else add(call, cjson.encode(event)) end
end)

-- Remembers tasks that a worker has lost, of which only the end of its name is known. Returns nothing.
register('losses', { 'allow-oom' }, function(call, asked)
  local losses = K.losses(call, asked.workerEnd)
  for _, id in ipairs(asked.ids) do
    if redis.call('ZCARD', losses) < MAX_LOSSES then redis.call('ZADD', losses, call.now_text, id) end
  end
  redis.call('PEXPIRE', losses, LOSSES_MS)
end)

-- Returns events as a list of ids and texts: those before an id, the newest first, or those after one, the oldest first.
register('events', { 'no-writes' }, function(call, asked)
  local key, before, after, answer = K.events(call), asked.before, asked.after, {}
  local entries = after and redis.call('XRANGE', key, '(' .. after, '+', 'COUNT', asked.limit)
    or redis.call('XREVRANGE', key, before and '(' .. before or '+', '-', 'COUNT', asked.limit)
  for n, entry in ipairs(entries) do answer[n] = { id = entry[1], event = entry[2][2] } end
  return answer
end)

-- Returns the workers that were lost lately, the latest first.
register('lostWorkers', { 'no-writes' }, function(call)
  local answer = {}
  local lost = redis.call('ZREVRANGE', K.lost(call), 0, MAX_WORKERS - 1, 'WITHSCORES')
  for n = 1, #lost, 2 do
    local about = redis.call('HGET', K.presentAbout(call), lost[n]) or ''
    answer[#answer + 1] = { id = lost[n], about = about, lostMs = tonumber(lost[n + 1]) }
  end
  return answer
end)

local function read_incidents(call)
  local list, told = unpack(redis.call('HMGET', K.incidents(call), 'list', 'told'))
  return { list = list or '', toldMs = tonumber(told or 0), nowMs = call.now }
end

-- One process looks for incidents at a time, and stays the one for a while. Returns whether this is it, and what was told last.
register('watchIncidents', { 'allow-oom' }, function(call, asked)
  local by, till = unpack(redis.call('HMGET', K.incidents(call), 'by', 'till'))
  till = tonumber(till or 0)
  local answer = read_incidents(call)
  -- After the clock was set back, the end may seem to be far away.
  answer.isWatching = by == asked.process or till <= call.now or till > call.now + WATCH_MS
  if answer.isWatching then redis.call('HSET', K.incidents(call), 'by', asked.process, 'till', whole(call.now + WATCH_MS)) end
  return answer
end)

-- Stores what is wrong as of a look, and adds events. Returns false if another process looks for incidents now.
register('tellIncidents', { 'allow-oom' }, function(call, asked)
  local by, told = unpack(redis.call('HMGET', K.incidents(call), 'by', 'told'))
  if by ~= asked.process then return false end
  -- Sent again, since the reply was lost.
  if tonumber(told or 0) == asked.lookedMs then return true end
  redis.call('HSET', K.incidents(call), 'list', asked.list, 'told', whole(asked.lookedMs))
  for _, event in ipairs(asked.events) do add(call, event) end
  return true
end)

-- Returns what is wrong, and as of when.
register('incidents', { 'no-writes' }, function(call)
  return read_incidents(call)
end)

-- Returns the versions of the handlers with the times of their first workers, the newest first.
register('deploys', { 'no-writes' }, function(call)
  local answer = {}
  for n, line in ipairs(redis.call('LRANGE', K.deploys(call), 0, -1)) do
    local at, version = string.match(line, '^(%d+) (.*)$')
    answer[n] = { atMs = tonumber(at), version = version }
  end
  return answer
end)
