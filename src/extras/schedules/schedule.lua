-- Schedules: stores them, says which are due, and notes what became of their due times. When that is, TypeScript computes from what is
-- stored alone and from the time of Redis, so any process comes to the same times.
--
-- The zset of due times has the first one of each schedule that is not done with. A process that takes a schedule holds it for a while, so
-- that the others leave it alone; if it dies, it is taken again, and submits under the same ids.

local whole = Number.whole
local ROW, TICK = Layout.schedules.row, Layout.tickSchedules.answer
-- How many due times are looked at in one call, of which others may hold most, or be the only ones that can submit.
local MAX_LOOKED = 1000

-- Whether a live process declares a schedule. After the clock was set back, what was declared before does not count until it is again.
local function is_live(call, id)
  local till = tonumber(redis.call('ZSCORE', K.scheduleDeclared(call), id) or 0)
  return till >= call.now and till <= call.now + C.scheduleDeclaredMs
end

local function row_of(call, id)
  local row = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
  local stored = redis.call(
    'HMGET', K.schedule(call, id), D.definition, D.declared, D.paused, D.created, D.after, D.at, D.state, D.task, D.retryUntil, D.held,
    D.revision
  )
  row[ROW.id], row[ROW.definition], row[ROW.declared], row[ROW.paused] = id, stored[1], stored[2], stored[3]
  row[ROW.orphan] = stored[2] == '1' and not is_live(call, id) and '1' or '0'
  row[ROW.created], row[ROW.after], row[ROW.at], row[ROW.state] = stored[4], stored[5], stored[6] or '', stored[7] or ''
  row[ROW.task], row[ROW.retryUntil], row[ROW.held] = stored[8] or '', stored[9] or '', stored[10] or '0'
  row[ROW.revision] = stored[11]
  return row
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
register('putSchedule', {}, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.putSchedule.args
  local id, definition, times, declares = args[ARGS.id], args[ARGS.definition], args[ARGS.times], args[ARGS.declared] == '1'
  local key = K.schedule(call, id)
  local known, known_times, declared, was_paused, after, revision =
    unpack(redis.call('HMGET', key, D.definition, D.times, D.declared, D.paused, D.after, D.revision))
  if declared == '1' and not declares and definition ~= known then return 'declared' end
  local paused = args[ARGS.paused] == '1' and '1' or '0'
  if declares then
    paused = was_paused or '0'
    declare(call, id)
  end
  if known == definition and was_paused == paused and (declared == '1') == (declares or declared == '1') then return 'same' end
  if args[ARGS.revision] ~= '' and args[ARGS.revision] ~= (revision or '0') then return 'stale' end
  redis.call(
    'HSET', key, D.definition, definition, D.queue, args[ARGS.queue], D.times, times,
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
register('deleteSchedule', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.deleteSchedule.args
  local id, expected = args[ARGS.id], args[ARGS.revision]
  local declared, revision = unpack(redis.call('HMGET', K.schedule(call, id), D.declared, D.revision))
  if not declared then return 'unknown' end
  if declared == '1' and is_live(call, id) then return 'declared' end
  if expected ~= '' and expected ~= revision then return 'stale' end
  redis.call('UNLINK', K.schedule(call, id))
  for _, index in ipairs({ K.schedules(call), K.scheduleTimes(call), K.scheduleDeclared(call) }) do redis.call('ZREM', index, id) end
  return 'deleted'
end)

-- Reads schedules in the order of their ids. Returns the time, "1" if there are more in the range, and their rows.
register('schedules', { 'no-writes' }, function(keys, args)
  local call, ARGS, rows, bytes = Call.new(keys), Layout.schedules.args, {}, 0
  local max = tonumber(args[ARGS.limit])
  local ids = redis.call('ZRANGEBYLEX', K.schedules(call), args[ARGS.min], args[ARGS.max], 'LIMIT', 0, max + 1)
  for n, id in ipairs(ids) do
    if n > max or bytes >= C.scheduleAnswerBytes then return { call.now_text, '1', rows } end
    rows[n] = row_of(call, id)
    bytes = bytes + #rows[n][ROW.definition]
  end
  return { call.now_text, '', rows }
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
  return whole(gone)
end

-- A process declares schedules, and takes at most `max` that are due and whose queue is among `queues`: who cannot submit a due time would
-- only keep it from the others. Returns the time, when the latest time without any process ended, when a schedule is due next or can be
-- taken ("" for none), for how long the first due time has waited, how many due ones the next call is to skip, the declared ones that the
-- store does not have, and the rows of those that are taken. Orphans are not due.
register('tickSchedules', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.tickSchedules.args
  local gone, unknown, rows, bytes, earliest, more = end_of_gap(call, tonumber(args[ARGS.livedMs])), {}, {}, 0, nil, false
  for n = 1, tonumber(args[ARGS.count]) do
    local id = args[ARGS.count + n]
    if redis.call('HGET', K.schedule(call, id), D.declared) == '1' then
      declare(call, id)
    else
      unknown[#unknown + 1] = id
    end
  end
  local times, max, skip, can_submit = K.scheduleTimes(call), tonumber(args[ARGS.max]), tonumber(args[ARGS.skip]), {}
  for _, queue in ipairs(cjson.decode(args[ARGS.queues])) do can_submit[queue] = true end
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
        bytes = bytes + #row[ROW.definition]
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
  local answer = { nil, nil, nil, nil, nil, nil, nil }
  answer[TICK.nowMs], answer[TICK.goneMs], answer[TICK.lateMs] = call.now_text, gone, whole(late)
  answer[TICK.nextMs], answer[TICK.skip] = earliest and whole(earliest) or '', skip
  answer[TICK.unknown], answer[TICK.rows] = unknown, rows
  return answer
end)

-- Notes what a look has done with a due time. What was submitted counts in any case; when it is due next only if the look still holds the
-- schedule: otherwise it was changed, or another process has taken it. Returns until when the look holds it, 0 if it does not.
register('stepSchedule', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.stepSchedule.args
  local id, at, next_due, hold = args[ARGS.id], args[ARGS.atMs], args[ARGS.nextMs], tonumber(args[ARGS.holdMs])
  local key = K.schedule(call, id)
  local after, known_at, held = unpack(redis.call('HMGET', key, D.after, D.at, D.held))
  if not after then return '0' end
  redis.call('HSET', key, D.after, whole(math.max(tonumber(after), tonumber(args[ARGS.afterMs]))))
  if at ~= '' and tonumber(at) >= tonumber(known_at or 0) then redis.call('HSET', key, D.at, at, D.state, args[ARGS.state]) end
  if args[ARGS.task] ~= '' then redis.call('HSET', key, D.task, args[ARGS.task]) end
  if held ~= args[ARGS.heldMs] then return '0' end
  if args[ARGS.retryUntilMs] == '' then
    redis.call('HDEL', key, D.retryUntil)
  else
    redis.call('HSET', key, D.retryUntil, args[ARGS.retryUntilMs])
  end
  if next_due == '' then
    redis.call('ZREM', K.scheduleTimes(call), id)
  else
    redis.call('ZADD', K.scheduleTimes(call), next_due, id)
  end
  if hold == 0 then
    redis.call('HDEL', key, D.held)
    return '0'
  end
  local until_ms = whole(call.now + hold)
  redis.call('HSET', key, D.held, until_ms)
  return until_ms
end)
