-- How tasks join and leave a fair line. Needs clock and fair.
local LAST_STEP = 68719476735
-- Most canceled tasks behind which the last one of a key is sought.
local MOST_CANCELED = 100

-- "weight key", as tasks keep it. Returns what a task costs, and the member.
local function share_of(class, share)
  local weight, key = string.match(share, '^(%S+) (.*)$')
  return 1 / weight, class .. ' ' .. key
end

-- The virtual time of a class, as the place of what was taken last; and, where newcomers of that start have filled its turns, the
-- start at which the next one finds room: all before it are full.
local function virtual_time(queue, class)
  local now_at, room = unpack(redis.call('HMGET', K.queue(queue), Q.virtual .. class, Q.room .. class))
  local time = tonumber(now_at or -1)
  local line = K.waiting(queue)
  local last = redis.call('ZREVRANGEBYSCORE', line, '(' .. whole((class + 1) * CLASS), whole(class * CLASS), 'LIMIT', 0, 1, 'WITHSCORES')
  local last_score = tonumber(last[2])
  if last_score and last_score % 1 == 0 then
    -- It joined before the line was fair: newcomers stand behind it.
    time = math.max(time, (last_score % CLASS) * STEPS)
    redis.call('HSET', K.queue(queue), Q.virtual .. class, whole(time))
  elseif not last_score and time > LAST_STEP * TURNS / 2 and redis.call('EXISTS', line, K.leases(queue), K.scheduled(queue)) == 0 then
    -- Half of the span is used up, and nobody is left who could return to a place: time begins again.
    redis.call('UNLINK', K.shares(queue), K.shareEnds(queue))
    redis.call('HDEL', K.queue(queue), Q.virtual .. class, Q.room .. class)
    return -1, 0
  end
  return time, tonumber(room or 0)
end

-- The first turn of a start behind all who wait with it, and behind what was taken last; nil where all are used up.
local function turn_at(queue, class, step, time)
  local place = math.max(step * TURNS, start_of(time) == step and time + 1 or 0)
  local below = '(' .. fair_score(class, (step + 1) * TURNS - 0.5)
  local last = redis.call('ZREVRANGEBYSCORE', K.waiting(queue), below, fair_score(class, step * TURNS), 'LIMIT', 0, 1, 'WITHSCORES')
  if last[2] then place = math.max(place, place_of(tonumber(last[2])) + 1) end
  return place < (step + 1) * TURNS and place or nil
end

-- The first turn of a start; where all are used up, that of the next start with one, which is bisected: many may be full.
local function free_turn(queue, class, step, time, room)
  step = math.min(step, LAST_STEP)
  local place = turn_at(queue, class, step, time)
  if place then return place end
  local full, free, width = math.max(step, room - 1), nil, 1
  repeat
    -- Whoever comes now stands beside the last one.
    if full >= LAST_STEP then return (LAST_STEP + 1) * TURNS - 1 end
    free = math.min(full + width, LAST_STEP)
    place = turn_at(queue, class, free, time)
    if not place then full, width = free, 2 * width end
  until place
  while free - full > 1 do
    local middle = floor((full + free) / 2)
    local found = turn_at(queue, class, middle, time)
    if found then free, place = middle, found else full = middle end
  end
  if free > room and step <= math.max(start_of(time), room) then redis.call('HSET', K.queue(queue), Q.room .. class, whole(free)) end
  return place
end

-- Where a task would stand that joins now; nothing is changed but what is remembered of full starts.
local function fair_place(queue, class, share)
  local time, room = virtual_time(queue, class)
  local cost, member = share_of(class, share)
  local charge, last_place, last_id = string.match(redis.call('HGET', K.shares(queue), member) or '', '^(%S+) (%S+) (.+)$')
  local from = math.max(start_of(time) / STEPS, tonumber(charge or 0))
  -- A charge is a sum of fractions. Behind its own last one, also where canceled tasks have freed what came before that.
  local step = math.max(floor(from * STEPS + 0.000001), start_of(tonumber(last_place or 0)))
  local place = free_turn(queue, class, step, time, room)
  return {
    place = place,
    score = fair_score(class, place),
    member = member,
    class = class,
    charge = from + cost,
    before = last_id and last_place .. ' ' .. last_id,
  }
end

local function keep_share(queue, class, member, charge, last)
  redis.call('HSET', K.shares(queue), member, string.format('%.17g', charge) .. ' ' .. last)
  local last_start = start_of(tonumber(string.match(last, '^%S+'))) / STEPS
  redis.call('ZADD', K.shareEnds(queue), string.format('%.17g', class * CLASS + math.max(charge, last_start)), member)
end

-- Puts a task where fair_place has found room.
local function join_fair(queue, id, found)
  redis.call('ZADD', K.waiting(queue), found.score, id)
  keep_share(queue, found.class, found.member, found.charge, whole(found.place) .. ' ' .. id)
end

-- The same for a task that is stored; returns its score.
local function rejoin_fair(queue, id, class, share)
  local found = fair_place(queue, class, share)
  if found.before then
    redis.call('HSET', K.task(id), F.before, found.before)
  else
    redis.call('HDEL', K.task(id), F.before)
  end
  join_fair(queue, id, found)
  return found.score
end

-- The last task of the same key before a canceled one that is not canceled itself: "place id", nil for none.
local function before_canceled(share, before)
  for _ = 1, MOST_CANCELED do
    local id = before and string.match(before, '^%S+ (.+)$')
    if not id then return before end
    local state, run, other, further = unpack(redis.call('HMGET', K.task(id), F.state, F.run, F.share, F.before))
    if state ~= S.canceled or run or other ~= share then return before end
    before = further
  end
  return before
end

-- A task leaves the line without having been started: its key is not charged for it. Before it is settled.
local function leave_fair(queue, id)
  local share, run, before, priority = unpack(redis.call('HMGET', K.task(id), F.share, F.run, F.before, F.priority))
  if not share then return end
  local class = tonumber(priority or C.defaultPriority)
  local cost, member = share_of(class, share)
  local stored = redis.call('HGET', K.shares(queue), member)
  if stored and not run then
    local charge, last, last_id = string.match(stored, '^(%S+) (%S+ (.+))$')
    local known = before
    before = before_canceled(share, before)
    if before ~= known then
      if before then redis.call('HSET', K.task(id), F.before, before) else redis.call('HDEL', K.task(id), F.before) end
    end
    if last_id == id then last = before or '0 -' end
    keep_share(queue, class, member, math.max(0, charge - cost), last)
    local time = tonumber(redis.call('HGET', K.queue(queue), Q.virtual .. class) or -1)
    local start = string.format('%.5f', class * CLASS + start_of(time) / STEPS)
    local left = redis.call('ZSCORE', K.shareEnds(queue), member)
    if tonumber(left) <= tonumber(start) then
      redis.call('ZREM', K.shareEnds(queue), member)
      redis.call('HDEL', K.shares(queue), member)
    end
  end
  forget_where_empty(queue)
end
