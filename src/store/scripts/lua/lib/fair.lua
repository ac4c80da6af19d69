-- Fair lines: start-time fair queueing inside the score. Of each class the virtual time is the start of what was taken last. A task
-- starts when its key has paid for the tasks before it, or now: start = max(virtual time, charge of the key); the charge then grows
-- by 1/weight: see lib/share.lua. Needs clock.
--
-- The score of a fair task is class·2^45 + (2·place + 1)/32, place = start (in sixteenths of a task of weight 1)·8192 + turn, below
-- 2^49. The turn orders equal starts by arrival. The odd 1/32 tells it from the score of a plain line: what costs more in a fair
-- line is done only where such a score is seen.
--
-- A member of K.shares and K.shareEnds is "class key". K.shares holds "charge place id": charge, and place and id of its last task in
-- line. K.shareEnds has the later of both, in the order of classes, so that those are found which the virtual time has passed.
local STEPS, TURNS = 16, 8192
-- Most keys that are forgotten at a time.
local MOST_FORGOTTEN = 500
-- Most keys of a class that are kept beside one for each waiting task, and how many are looked at when there are more.
local MOST_IDLE, LOOKED_AT = 1000, 200

local function fair_score(class, place)
  return string.format('%.5f', class * CLASS + (2 * place + 1) / 32)
end

local function place_of(score)
  return ((score % CLASS) * 32 - 1) / 2
end

local function start_of(place)
  return math.max(0, floor(place / TURNS))
end

local function forget_shares(queue, from, to)
  local members = redis.call('ZRANGEBYSCORE', K.shareEnds(queue), from, to, 'LIMIT', 0, MOST_FORGOTTEN)
  if #members == 0 then return end
  redis.call('ZREM', K.shareEnds(queue), unpack(members))
  redis.call('HDEL', K.shares(queue), unpack(members))
end

-- A key that does not wait is kept until the virtual time has passed its charge, which it may not do for long: newcomers start at it.
-- Where there are many of these, those that have to wait the least go.
local function forget_idle(queue, class)
  if redis.call('ZCARD', K.shareEnds(queue)) <= MOST_IDLE then return end
  local from, to = whole(class * CLASS), '(' .. whole((class + 1) * CLASS)
  local over = redis.call('ZCOUNT', K.shareEnds(queue), from, to) - redis.call('ZCOUNT', K.waiting(queue), from, to) - MOST_IDLE
  if over <= 0 then return end
  local members, last, idle = redis.call('ZRANGEBYSCORE', K.shareEnds(queue), from, to, 'LIMIT', 0, LOOKED_AT), {}, {}
  for n, share in ipairs(redis.call('HMGET', K.shares(queue), unpack(members))) do
    last[n] = string.match(share or '', '%S+$') or '-'
  end
  for n, score in ipairs(redis.call('ZMSCORE', K.waiting(queue), unpack(last))) do
    if not score and #idle < over then idle[#idle + 1] = members[n] end
  end
  if #idle == 0 then return end
  redis.call('ZREM', K.shareEnds(queue), unpack(idle))
  redis.call('HDEL', K.shares(queue), unpack(idle))
end

-- Forgets the keys of a fair line where nobody waits.
local function forget_where_empty(queue)
  local first = redis.call('ZRANGE', K.waiting(queue), 0, 0, 'WITHSCORES')
  if not first[2] then
    redis.call('UNLINK', K.shares(queue), K.shareEnds(queue))
  else
    -- Nobody waits in the classes before the first.
    forget_shares(queue, '-inf', '(' .. whole(floor(first[2] / CLASS) * CLASS))
  end
end

-- What was taken moves the virtual time on, and the keys are forgotten that it has passed.
local function pass_fair(queue, entries)
  local taken = {}
  for n = 2, #entries, 2 do
    local score = tonumber(entries[n])
    if score % 1 ~= 0 then
      local class = floor(score / CLASS)
      taken[class] = math.max(taken[class] or 0, place_of(score))
    end
  end
  for class, place in pairs(taken) do
    local time = tonumber(redis.call('HGET', K.queue(queue), Q.virtual .. class) or -1)
    if place > time then
      time = place
      redis.call('HSET', K.queue(queue), Q.virtual .. class, whole(time))
    end
    forget_shares(queue, whole(class * CLASS), '(' .. string.format('%.5f', class * CLASS + start_of(time) / STEPS))
    forget_idle(queue, class)
  end
  forget_where_empty(queue)
end
