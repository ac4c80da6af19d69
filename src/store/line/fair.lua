-- Fair lines: start-time fair queueing inside the score. The virtual time of a class is the start of the task taken last. A task
-- starts when its key has paid for the tasks before it, or now: start = max(virtual time, charge of the key); the charge then grows
-- by 1/weight.
--
-- The score of a fair task is class·2^45 + (2·place + 1)/32, place = start (in sixteenths of a task of weight 1)·8192 + turn, below
-- 2^49. The turn orders equal starts by arrival. The odd 1/32 distinguishes it from the score of a plain line: the extra work of a fair
-- line is done only for such scores.
--
-- A member of K.shares and K.shareEnds is "class key". K.shares holds "charge place id": charge, and place and id of its last task in
-- line. K.shareEnds has the later of both, in the order of classes, to find the line keys that the virtual time has passed.
local Fair = {}

local whole = Number.whole
local CLASS = C.classSpan
local STEPS, TURNS = 16, 8192
local LAST_STEP = 68719476735
-- Maximum number of line keys deleted at a time.
local MAX_DELETED = 500
-- Maximum number of line keys of a class kept in addition to one for each waiting task, and how many are examined if there are more.
local MAX_IDLE, LOOKED_AT = 1000, 200
-- Maximum number of canceled tasks that are skipped to find the last one of a line key.
local MAX_CANCELED = 100

-- Whether a score is that of a fair line.
function Fair.is_fair(score)
  return score % 1 ~= 0
end

local function fair_score(class, place)
  return string.format('%.5f', class * CLASS + (2 * place + 1) / 32)
end

local function place_of(score)
  return ((score % CLASS) * 32 - 1) / 2
end

local function start_of(place)
  return math.max(0, math.floor(place / TURNS))
end

-- The virtual time of a class, as the place of the task taken last; -1 before the first.
local function stored_time(call, queue, class)
  return tonumber(redis.call('HGET', K.queue(call, queue), Q.virtual .. class) or -1)
end

-- The score in K.shareEnds of a virtual time.
local function end_score(class, time)
  return string.format('%.5f', class * CLASS + start_of(time) / STEPS)
end

-- How many tasks are before a newcomer whose line key has nothing waiting: it starts at the virtual time, after all that start then.
function Fair.before_newcomer(call, queue, class)
  local behind = fair_score(class, (start_of(stored_time(call, queue, class)) + 1) * TURNS - 0.5)
  return redis.call('ZCOUNT', K.waiting(call, queue), '-inf', '(' .. behind)
end

local function delete_members(call, queue, members)
  if #members == 0 then return end
  redis.call('ZREM', K.shareEnds(call, queue), unpack(members))
  redis.call('HDEL', K.shares(call, queue), unpack(members))
end

local function delete_between(call, queue, from, to)
  delete_members(call, queue, redis.call('ZRANGEBYSCORE', K.shareEnds(call, queue), from, to, 'LIMIT', 0, MAX_DELETED))
end

-- A line key with nothing waiting is kept until the virtual time has passed its charge, which may take long, since newcomers start at the
-- virtual time. If there are many such keys, those with the least to wait are deleted.
local function delete_idle(call, queue, class)
  local ends, line = K.shareEnds(call, queue), K.waiting(call, queue)
  if redis.call('ZCARD', ends) <= MAX_IDLE then return end
  local from, to = whole(class * CLASS), '(' .. whole((class + 1) * CLASS)
  local over = redis.call('ZCOUNT', ends, from, to) - redis.call('ZCOUNT', line, from, to) - MAX_IDLE
  if over <= 0 then return end
  local members, last, idle = redis.call('ZRANGEBYSCORE', ends, from, to, 'LIMIT', 0, LOOKED_AT), {}, {}
  for n, share in ipairs(redis.call('HMGET', K.shares(call, queue), unpack(members))) do
    last[n] = string.match(share or '', '%S+$') or '-'
  end
  for n, score in ipairs(redis.call('ZMSCORE', line, unpack(last))) do
    if not score and #idle < over then idle[#idle + 1] = members[n] end
  end
  delete_members(call, queue, idle)
end

-- Deletes the line keys of a fair line in classes where nothing waits.
local function delete_where_empty(call, queue)
  local first = redis.call('ZRANGE', K.waiting(call, queue), 0, 0, 'WITHSCORES')
  if not first[2] then
    redis.call('UNLINK', K.shares(call, queue), K.shareEnds(call, queue))
  else
    -- Nothing waits in the classes before the first.
    delete_between(call, queue, '-inf', '(' .. whole(math.floor(first[2] / CLASS) * CLASS))
  end
end

-- Moves the virtual time on by the tasks that were taken (ids and scores), and deletes the line keys that it has passed.
function Fair.pass(call, queue, entries)
  local taken = {}
  for n = 2, #entries, 2 do
    local score = tonumber(entries[n])
    if Fair.is_fair(score) then
      local class = math.floor(score / CLASS)
      taken[class] = math.max(taken[class] or 0, place_of(score))
    end
  end
  for class, place in pairs(taken) do
    local time = stored_time(call, queue, class)
    if place > time then
      time = place
      redis.call('HSET', K.queue(call, queue), Q.virtual .. class, whole(time))
    end
    delete_between(call, queue, whole(class * CLASS), '(' .. end_score(class, time))
    delete_idle(call, queue, class)
  end
  delete_where_empty(call, queue)
end

-- "weight key", as tasks keep it. Returns what a task costs, and the member.
local function parts_of_share(class, share)
  local weight, key = string.match(share, '^(%S+) (.*)$')
  return 1 / weight, class .. ' ' .. key
end

-- The virtual time of a class, as the place of the task taken last; and, if newcomers have filled the turns of that start, the first start
-- with room.
local function virtual_time(call, queue, class)
  local counters, line = K.queue(call, queue), K.waiting(call, queue)
  local now_at, room = unpack(redis.call('HMGET', counters, Q.virtual .. class, Q.room .. class))
  local time = tonumber(now_at or -1)
  local last = redis.call('ZREVRANGEBYSCORE', line, '(' .. whole((class + 1) * CLASS), whole(class * CLASS), 'LIMIT', 0, 1, 'WITHSCORES')
  local last_score = tonumber(last[2])
  if last_score and not Fair.is_fair(last_score) then
    -- It joined before the line was fair, so newcomers come after it.
    time = math.max(time, (last_score % CLASS) * STEPS)
    redis.call('HSET', counters, Q.virtual .. class, whole(time))
  elseif not last_score and time > LAST_STEP * TURNS / 2
    and redis.call('EXISTS', line, K.leases(call, queue), K.scheduled(call, queue)) == 0 then
    -- Half of the span is used up, and no task is left that could return to a place, so time begins again.
    redis.call('UNLINK', K.shares(call, queue), K.shareEnds(call, queue))
    redis.call('HDEL', counters, Q.virtual .. class, Q.room .. class)
    return -1, 0
  end
  return time, tonumber(room or 0)
end

-- The first turn of a start after all that wait with it, and after the task taken last; nil if all are used up.
local function turn_at(call, queue, class, step, time)
  local place = math.max(step * TURNS, start_of(time) == step and time + 1 or 0)
  local below = '(' .. fair_score(class, (step + 1) * TURNS - 0.5)
  local from = fair_score(class, step * TURNS)
  local last = redis.call('ZREVRANGEBYSCORE', K.waiting(call, queue), below, from, 'LIMIT', 0, 1, 'WITHSCORES')
  if last[2] then place = math.max(place, place_of(tonumber(last[2])) + 1) end
  return place < (step + 1) * TURNS and place or nil
end

-- The first turn of a start; if all are used up, that of the next start with a free one, found by bisection since many may be full.
local function free_turn(call, queue, class, step, time, room)
  step = math.min(step, LAST_STEP)
  local place = turn_at(call, queue, class, step, time)
  if place then return place end
  local full, width, free = math.max(step, room - 1), 1
  repeat
    -- From here on, newcomers share the last place.
    if full >= LAST_STEP then return (LAST_STEP + 1) * TURNS - 1 end
    free = math.min(full + width, LAST_STEP)
    place = turn_at(call, queue, class, free, time)
    if not place then full, width = free, 2 * width end
  until place
  while free - full > 1 do
    local middle = math.floor((full + free) / 2)
    local found = turn_at(call, queue, class, middle, time)
    if found then free, place = middle, found else full = middle end
  end
  if free > room and step <= math.max(start_of(time), room) then
    redis.call('HSET', K.queue(call, queue), Q.room .. class, whole(free))
  end
  return place
end

-- The place of a task that would join now; changes nothing except what is remembered about full starts.
function Fair.find_place(call, queue, class, share)
  local time, room = virtual_time(call, queue, class)
  local cost, member = parts_of_share(class, share)
  local stored = redis.call('HGET', K.shares(call, queue), member)
  local charge, last_place, last_id = string.match(stored or '', '^(%S+) (%S+) (.+)$')
  local from = math.max(start_of(time) / STEPS, tonumber(charge or 0))
  -- A charge is a sum of fractions. The place must come after the key's last task, even if canceled tasks have freed places before it.
  local step = math.max(math.floor(from * STEPS + 0.000001), start_of(tonumber(last_place or 0)))
  local place = free_turn(call, queue, class, step, time, room)
  return {
    place = place,
    score = fair_score(class, place),
    member = member,
    class = class,
    charge = from + cost,
    before = last_id and last_place .. ' ' .. last_id,
  }
end

local function keep_share(call, queue, class, member, charge, last)
  redis.call('HSET', K.shares(call, queue), member, string.format('%.17g', charge) .. ' ' .. last)
  local last_start = start_of(tonumber(string.match(last, '^%S+'))) / STEPS
  local ends = string.format('%.17g', class * CLASS + math.max(charge, last_start))
  redis.call('ZADD', K.shareEnds(call, queue), ends, member)
end

-- Puts a task at the place from Fair.find_place.
function Fair.join(call, queue, id, found)
  redis.call('ZADD', K.waiting(call, queue), found.score, id)
  keep_share(call, queue, found.class, found.member, found.charge, whole(found.place) .. ' ' .. id)
end

local function set_before(key, before)
  if before then redis.call('HSET', key, F.before, before) else redis.call('HDEL', key, F.before) end
end

-- The same for a task that is stored.
function Fair.rejoin(call, queue, id, class, share)
  local found = Fair.find_place(call, queue, class, share)
  set_before(K.task(call, id), found.before)
  Fair.join(call, queue, id, found)
end

-- The last task of the same line key before a canceled one that is not canceled itself: "place id", nil for none.
local function before_canceled(call, share, before)
  for _ = 1, MAX_CANCELED do
    local id = before and string.match(before, '^%S+ (.+)$')
    if not id then return before end
    local state, run, other, further = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run, F.share, F.before))
    if state ~= S.canceled or run or other ~= share then return before end
    before = further
  end
  return before
end

-- A task leaves the line without having started, so its line key is not charged. Call this before it is settled.
function Fair.leave(call, queue, id)
  local key = K.task(call, id)
  local share, run, before, priority = unpack(redis.call('HMGET', key, F.share, F.run, F.before, F.priority))
  if not share then return end
  local class = tonumber(priority or C.defaultPriority)
  local cost, member = parts_of_share(class, share)
  local stored = redis.call('HGET', K.shares(call, queue), member)
  if stored and not run then
    local charge, last, last_id = string.match(stored, '^(%S+) (%S+ (.+))$')
    local known = before
    before = before_canceled(call, share, before)
    if before ~= known then set_before(key, before) end
    if last_id == id then last = before or '0 -' end
    keep_share(call, queue, class, member, math.max(0, charge - cost), last)
    local start = end_score(class, stored_time(call, queue, class))
    local left = redis.call('ZSCORE', K.shareEnds(call, queue), member)
    if tonumber(left) <= tonumber(start) then delete_members(call, queue, { member }) end
  end
  delete_where_empty(call, queue)
end

return Fair
