-- Says that a worker lives and how many slots it gives each queue; forgets those that have not said so in time.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  worker: the id of the worker process
-- ARGV[2]  ttl: ms until it counts as gone; 0 when it says goodbye
-- ARGV[3]  about: what it tells of itself; "" to tell nothing here
-- ARGV[4]  again: "1" where it has said the same before
-- ARGV[5]  count: number of queues, each with the two arguments that follow
-- ARGV[6…] queue, slots
--
-- Returns ms since a task of one of these queues last lost its worker, "" where none has.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include lane

-- Most workers that are forgotten of a queue in one call; and no worker is believed to live for longer without a word, ms, which
-- matters where the clock was set back.
local FORGET_MOST, LONGEST_MS = 100, 300000

local worker, ttl, about = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local again = ARGV[4] == '1'
local last_loss

-- Whether it is enough to say when the heartbeat ends: nothing else has changed.
local function only_goes_on(live, counters, workers, until_when)
  if not again or ttl == 0 or redis.call('ZADD', live, 'XX', 'CH', whole(now + ttl), worker) == 0 then return false end
  -- Where it is alone, there is nobody to forget.
  if workers ~= '1' and redis.call('ZRANGEBYSCORE', live, '-inf', now_text, 'LIMIT', 0, 1)[1] then return false end
  until_when = tonumber(until_when or 0)
  if until_when > now + LONGEST_MS then return false end
  if until_when < now + ttl then redis.call('HSET', counters, Q.liveUntil, whole(now + ttl)) end
  return true
end

local function beat(queue, slots)
  local live, slots_of, counters = K.workers(queue), K.slots(queue), K.queue(queue)
  local all_slots, lost_at, known_workers, live_until =
    unpack(redis.call('HMGET', counters, Q.slots, Q.lostAt, Q.workers, Q.liveUntil))
  lost_at = tonumber(lost_at)
  if lost_at and not (last_loss and last_loss > lost_at) then last_loss = lost_at end
  if only_goes_on(live, counters, known_workers, live_until) then return end
  local workers = redis.call('ZCARD', live)
  -- Their sum is kept, so that nobody has to look at them all.
  local total = workers > 0 and tonumber(all_slots or 0) or 0
  if workers == 0 then redis.call('DEL', slots_of) end

  local function forget(name)
    if redis.call('ZREM', live, name) == 0 then return end
    workers, total = workers - 1, total - tonumber(redis.call('HGET', slots_of, name) or 0)
    redis.call('HDEL', slots_of, name)
    redis.call('HDEL', counters, lane_field(name, '0'), lane_field(name, '1'))
  end

  for _, name in ipairs(redis.call('ZRANGEBYSCORE', live, '-inf', now_text, 'LIMIT', 0, FORGET_MOST)) do forget(name) end
  if ttl > 0 then
    local known = redis.call('HGET', slots_of, worker)
    if known ~= slots then redis.call('HSET', slots_of, worker, slots) end
    workers = workers + redis.call('ZADD', live, whole(now + ttl), worker)
    total = total + tonumber(slots) - tonumber(known or 0)
  else
    forget(worker)
  end

  local last = redis.call('ZREVRANGE', live, 0, 0, 'WITHSCORES')
  local until_when = tonumber(last[2] or 0)
  if until_when > now + LONGEST_MS then
    local latest = now + LONGEST_MS
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', live, '(' .. whole(latest), '+inf', 'LIMIT', 0, FORGET_MOST)) do
      redis.call('ZADD', live, whole(latest), name)
    end
    until_when = latest
  end
  redis.call('HSET', counters, Q.workers, workers, Q.slots, whole(math.max(0, total)), Q.liveUntil, whole(until_when))
end

for n = 0, tonumber(ARGV[5]) - 1 do beat(ARGV[6 + n * 2], ARGV[7 + n * 2]) end
if ttl == 0 then
  redis.call('UNLINK', K.about(worker))
elseif about ~= '' then
  redis.call('SET', K.about(worker), whole(ttl) .. ' ' .. about, 'PX', ttl)
end
return last_loss and whole(math.max(0, now - last_loss)) or ''
