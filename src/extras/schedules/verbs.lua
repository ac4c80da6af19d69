-- Schedules: stores them, says which are due, and notes what became of their due times. When that is, TypeScript computes from what is
-- stored alone and from the time of Redis, so any process comes to the same times.
--
-- The zset of due times has the first one of each schedule that is not done with. A process that takes a schedule holds it for a while, so
-- that the others leave it alone; if it dies, it is taken again, and submits under the same ids.

local whole = Number.whole
-- How many due times are looked at in one call, of which others may hold most, or be the only ones that can submit.
local MAX_LOOKED = 1000

-- Whether a live process declares a schedule. After the clock was set back, what was declared before does not count until it is again.
local function is_live(call, id)
  local till = tonumber(redis.call('ZSCORE', K.scheduleDeclared(call), id) or 0)
  return till >= call.now and till <= call.now + C.scheduleDeclaredMs
end

-- Notes what became of a due time, in place of what was noted before.
local function note_past(call, id, at, state)
  local key, text = K.scheduleHistory(call, id), whole(at) .. ' ' .. state
  for n, known in ipairs(redis.call('LRANGE', key, 0, -1)) do
    if string.match(known, '^%d+') == whole(at) then return redis.call('LSET', key, n - 1, text) end
  end
  redis.call('LPUSH', key, text)
  redis.call('LTRIM', key, 0, C.scheduleHistory - 1)
end

local function history_of(call, id)
  local history = {}
  for n, known in ipairs(redis.call('LRANGE', K.scheduleHistory(call, id), 0, -1)) do
    local at, state = string.match(known, '^(%d+) (.*)$')
    history[n] = { atMs = tonumber(at), state = state }
  end
  return history
end

local function row_of(call, id)
  local definition, declared, paused, created, after, at, state, task, retry_until, held, revision = unpack(redis.call(
    'HMGET', K.schedule(call, id), D.definition, D.declared, D.paused, D.created, D.after, D.at, D.state, D.task, D.retryUntil, D.held,
    D.revision
  ))
  return {
    id = id,
    definition = definition,
    declared = declared == '1',
    orphan = declared == '1' and not is_live(call, id),
    paused = paused == '1',
    createdMs = tonumber(created),
    revision = tonumber(revision),
    afterMs = tonumber(after),
    history = history_of(call, id),
    last = at and { atMs = tonumber(at), state = state } or cjson.null,
    task = task or '',
    retryUntilMs = tonumber(retry_until or nil) or cjson.null,
    heldMs = tonumber(held or 0),
  }
end

-- Lets the next tick look at a schedule: it computes when that is due.
local function look_soon(call, id)
  redis.call('ZADD', K.scheduleTimes(call), call.now_text, id)
end

-- Renews the declaration of a schedule.
local function declare(call, id)
  local was_live = is_live(call, id)
  redis.call('ZADD', K.scheduleDeclared(call), whole(call.now + C.scheduleDeclaredMs), id)
  if not was_live and redis.call('HGET', K.schedule(call, id), D.paused) ~= '1' then look_soon(call, id) end
end

-- Stores a schedule. Its due times count from now on if they have changed, or if it was paused. Returns "new", "changed", "same",
-- "declared": a handler declares it, and more than whether it is paused would change; or "stale": it has another revision than is given.
register('putSchedule', {}, function(call, asked)
  local id, definition, times, declares = asked.id, asked.definition, asked.times, asked.declared
  local key = K.schedule(call, id)
  local known, known_times, declared, was_paused, after, revision =
    unpack(redis.call('HMGET', key, D.definition, D.times, D.declared, D.paused, D.after, D.revision))
  if declared == '1' and not declares and definition ~= known then return 'declared' end
  local paused = asked.paused and '1' or '0'
  if declares then
    paused = was_paused or '0'
    declare(call, id)
  end
  if known == definition and was_paused == paused and (declared == '1') == (declares or declared == '1') then return 'same' end
  if asked.revision and asked.revision ~= tonumber(revision or 0) then return 'stale' end
  redis.call(
    'HSET', key, D.definition, definition, D.queue, asked.queue, D.times, times,
    D.declared, (declares or declared == '1') and '1' or '0', D.paused, paused,
    D.revision, whole(math.max(call.now, tonumber(revision or 0) + 1))
  )
  redis.call('HSETNX', key, D.created, call.now_text)
  if times ~= known_times or (was_paused == '1' and paused == '0') then
    redis.call('HSET', key, D.after, whole(math.max(call.now, tonumber(after or 0))))
    redis.call('HDEL', key, D.retryUntil)
  end
  redis.call('ZADD', K.schedules(call), 0, id)
  -- A look that is going on would note when the old one is due next.
  redis.call('HDEL', key, D.held)
  if paused == '1' then
    redis.call('ZREM', K.scheduleTimes(call), id)
  else
    look_soon(call, id)
  end
  return known and 'changed' or 'new'
end)

-- Deletes a schedule. Returns "deleted", "unknown", "declared": a live process declares it, or "stale": it has another revision than is given.
register('deleteSchedule', { 'allow-oom' }, function(call, asked)
  local id = asked.id
  local declared, revision = unpack(redis.call('HMGET', K.schedule(call, id), D.declared, D.revision))
  if not declared then return 'unknown' end
  if declared == '1' and is_live(call, id) then return 'declared' end
  if asked.revision and asked.revision ~= tonumber(revision) then return 'stale' end
  redis.call('UNLINK', K.schedule(call, id), K.scheduleHistory(call, id))
  local indexes = { K.schedules(call), K.scheduleTimes(call), K.scheduleDeclared(call), K.scheduleMissed(call) }
  for _, index in ipairs(indexes) do redis.call('ZREM', index, id) end
  return 'deleted'
end)

-- Reads schedules in the order of their ids. Returns the time, whether there are more in the range, and their rows.
register('schedules', { 'no-writes' }, function(call, asked)
  local rows, bytes = {}, 0
  local ids = redis.call('ZRANGEBYLEX', K.schedules(call), asked.min, asked.max, 'LIMIT', 0, asked.limit + 1)
  for n, id in ipairs(ids) do
    if n > asked.limit or bytes >= C.scheduleAnswerBytes then return { nowMs = call.now, more = true, rows = rows } end
    rows[n] = row_of(call, id)
    bytes = bytes + #rows[n].definition
  end
  return { nowMs = call.now, more = false, rows = rows }
end)

-- When the latest time without any process ended, 0 for never: when this one started, the latest tick was longer ago than any process pauses.
-- A gap through which it has lived was one of the store.
local function end_of_gap(call, lived)
  local key = K.scheduleTicks(call)
  local ticked, gone = unpack(redis.call('HMGET', key, 'ticked', 'gone'))
  ticked, gone = tonumber(ticked or 0), tonumber(gone or 0)
  local started = call.now - lived
  if started - ticked > C.scheduleGapMs then gone = started end
  -- The clock was set back, or this process lived before one that found no other.
  if gone > call.now or gone - started > C.scheduleGapMs then gone = 0 end
  redis.call('HSET', key, 'ticked', call.now_text, 'gone', whole(gone))
  return gone
end

-- A process declares schedules, and takes at most `max` that are due and whose queue is among `queues`: who cannot submit a due time would
-- only keep it from the others. Returns the time, when the latest time without any process ended, when a schedule is due next or can be
-- taken ("" for none), for how long the first due time has waited, how many due ones the next call is to skip, the declared ones that the
-- store does not have, and the rows of those that are taken. Orphans are not due.
register('tickSchedules', { 'allow-oom' }, function(call, asked)
  local gone, unknown, rows, bytes, earliest, more = end_of_gap(call, asked.livedMs), {}, {}, 0, nil, false
  for _, id in ipairs(asked.declared) do
    if redis.call('HGET', K.schedule(call, id), D.declared) == '1' then
      declare(call, id)
    else
      unknown[#unknown + 1] = id
    end
  end
  local times, max, skip, can_submit = K.scheduleTimes(call), asked.max, asked.skip, {}
  for _, queue in ipairs(asked.queues) do can_submit[queue] = true end
  local due = redis.call('ZRANGEBYSCORE', times, '-inf', call.now_text, 'WITHSCORES', 'LIMIT', skip, MAX_LOOKED)
  for n = 1, #due, 2 do
    local id = due[n]
    local declared, held, queue = unpack(redis.call('HMGET', K.schedule(call, id), D.declared, D.held, D.queue))
    held = tonumber(held or 0)
    if declared == '1' and not is_live(call, id) then
      redis.call('ZREM', times, id)
    elseif can_submit[queue] then
      -- After the clock was set back, a hold may seem to last for hours.
      if held > call.now and held <= call.now + C.scheduleLongestHoldMs then
        earliest = math.min(earliest or held, held)
      elseif #rows >= max or bytes >= C.scheduleAnswerBytes then
        more = true
      else
        redis.call('HSET', K.schedule(call, id), D.held, whole(call.now + C.scheduleHoldMs))
        local row = row_of(call, id)
        rows[#rows + 1] = row
        bytes = bytes + #row.definition
      end
    end
  end
  local first = redis.call('ZRANGE', times, 0, 0, 'WITHSCORES')[2]
  local late = math.max(0, call.now - tonumber(first or call.now))
  local later = redis.call('ZRANGEBYSCORE', times, '(' .. call.now_text, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if later then earliest = math.min(earliest or tonumber(later), tonumber(later)) end
  local is_last_page = #due < 2 * MAX_LOOKED
  if more or not is_last_page then earliest = call.now end
  if not more then skip = is_last_page and 0 or skip + MAX_LOOKED end
  return {
    nowMs = call.now, goneMs = gone, lateMs = late, nextMs = earliest or cjson.null, skip = skip, unknown = unknown, rows = rows,
  }
end)

-- How long after it was submitted the task of a due time is looked at, and how often at most and at least, ms.
local RUN_MS, LONGEST_RUN_MS = 2000, 60000

-- Notes what became of due times, and whether some were missed.
local function note_times(call, id, asked)
  local at, state, missed = asked.atMs, asked.state, asked.missedMs
  for _, ms in ipairs(missed) do note_past(call, id, ms, 'missed') end
  if at then note_past(call, id, at, state) end
  if state == 'submitted' then
    redis.call('ZADD', K.scheduleRuns(call), whole(call.now + RUN_MS), id .. ' ' .. whole(at))
  end
  if #missed > 0 or state == 'refused' then
    local latest = missed[#missed] or at
    redis.call('HSET', K.schedule(call, id), D.missed, #missed .. ' ' .. whole(latest))
    redis.call('ZADD', K.scheduleMissed(call), call.now_text, id)
  elseif state == 'submitted' then
    redis.call('ZREM', K.scheduleMissed(call), id)
  end
end

-- Notes what a look has done with a due time. What was submitted counts in any case; when it is due next only if the look still holds the
-- schedule: otherwise it was changed, or another process has taken it. Returns until when the look holds it, 0 if it does not.
register('stepSchedule', { 'allow-oom' }, function(call, asked)
  local id, at = asked.id, asked.atMs
  local key = K.schedule(call, id)
  local after, known_at, held = unpack(redis.call('HMGET', key, D.after, D.at, D.held))
  if not after then return 0 end
  redis.call('HSET', key, D.after, whole(math.max(tonumber(after), asked.afterMs)))
  note_times(call, id, asked)
  if at and at >= tonumber(known_at or 0) then redis.call('HSET', key, D.at, whole(at), D.state, asked.state) end
  if asked.task ~= '' then redis.call('HSET', key, D.task, asked.task) end
  if tonumber(held or 0) ~= asked.heldMs then return 0 end
  if asked.retryUntilMs then
    redis.call('HSET', key, D.retryUntil, whole(asked.retryUntilMs))
  else
    redis.call('HDEL', key, D.retryUntil)
  end
  if asked.nextMs then
    redis.call('ZADD', K.scheduleTimes(call), whole(asked.nextMs), id)
  else
    redis.call('ZREM', K.scheduleTimes(call), id)
  end
  if asked.holdMs == 0 then
    redis.call('HDEL', key, D.held)
    return 0
  end
  local until_ms = call.now + asked.holdMs
  redis.call('HSET', key, D.held, whole(until_ms))
  return until_ms
end)

-- Takes due times whose tasks may have ended: a process that dies leaves them to the others. The longer a task goes on, the more seldom it is
-- looked at. Returns at most `limit` of them.
register('openRuns', { 'allow-oom' }, function(call, asked)
  local runs, key = {}, K.scheduleRuns(call)
  for n, run in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', call.now_text, 'LIMIT', 0, asked.limit)) do
    local id, at = string.match(run, '^(%S+) (%d+)$')
    local pause = math.min(LONGEST_RUN_MS, math.max(RUN_MS, (call.now - tonumber(at)) / 4))
    redis.call('ZADD', key, whole(call.now + pause), run)
    runs[n] = { id = id, atMs = tonumber(at) }
  end
  return runs
end)

-- Notes how the task of a due time has ended. Returns nothing.
register('endRun', { 'allow-oom' }, function(call, asked)
  local id, at, state = asked.id, asked.atMs, asked.state
  redis.call('ZREM', K.scheduleRuns(call), id .. ' ' .. whole(at))
  if state and redis.call('EXISTS', K.scheduleHistory(call, id)) == 1 then note_past(call, id, at, state) end
end)

-- Returns the schedules whose latest due times were missed or refused in the last hour.
register('missedSchedules', { 'no-writes' }, function(call)
  local answer = {}
  for n, id in ipairs(redis.call('ZRANGEBYSCORE', K.scheduleMissed(call), whole(call.now - C.scheduleMissedMs), '+inf')) do
    local queue, missed, state = unpack(redis.call('HMGET', K.schedule(call, id), D.queue, D.missed, D.state))
    local number, at = string.match(missed or '', '^(%d+) (%d+)$')
    answer[n] = { id = id, queue = queue, missed = tonumber(number), atMs = tonumber(at), state = state }
  end
  return answer
end)
