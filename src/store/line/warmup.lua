-- How long a worker takes to start, for estimates while a queue has none. A start lasts from the moment at which there was work in line
-- and no worker until a worker sends its first heartbeat, which it does when it begins to take work.
--   Q.needed   when work last joined an empty line while there was no worker, ms. If the last worker left after that, the need began at
--              Q.liveUntil
--   Q.warmup   exponentially weighted mean (ms) and variance (ms²) of the starts, how many there were, and the slots of the last of these
--              workers, with a space between
-- A handler may declare it: the field "warmup <queue>" of K.ticked, see register.lua.
local Warmup = {}

local whole = Number.whole
-- One start counts as at most this many times the mean, or this many ms, so that an outage does not ruin the mean.
local MAX_GROWTH, ALWAYS_MS = 4, 60000

-- Since when there has been work and no worker, ms.
local function since(needed, live_until)
  return math.max(tonumber(needed or 0), tonumber(live_until or 0))
end

-- Notes that a worker is needed, if tasks have just joined an empty line.
--   joined  how many; nil if the need begins now, although tasks waited before
--   live_until  Q.liveUntil; nil if the caller has not read it, false if there is none
function Warmup.note_need(call, queue, joined, live_until)
  local key = K.queue(call, queue)
  if live_until == nil then live_until = redis.call('HGET', key, Q.liveUntil) end
  if tonumber(live_until or 0) > call.now or redis.call('ZCARD', K.waiting(call, queue)) > (joined or math.huge) then return end
  redis.call('HSET', key, Q.needed, call.now_text)
end

-- Notes the first worker of a queue that had none.
function Warmup.note_start(call, queue, slots, live_until)
  local key = K.queue(call, queue)
  local needed, learned, paused, rest = unpack(redis.call('HMGET', key, Q.needed, Q.warmup, Q.paused, Q.rest))
  local mean, variance, samples = string.match(learned or '0 0 0', '^(%S+) (%S+) (%S+)')
  mean, variance, samples = tonumber(mean), tonumber(variance), tonumber(samples)
  local began = since(needed, live_until)
  local span = call.now - began
  -- Not learned: a wait too long for a start, and a wait that something else has ended. The task may have been taken already.
  if began > 0 and span >= 0 and span <= C.longestStartMs and paused ~= '1' and not rest
    and redis.call('EXISTS', K.waiting(call, queue), K.leases(call, queue)) > 0 then
    if samples > 0 then span = math.min(span, math.max(MAX_GROWTH * mean, ALWAYS_MS)) end
    samples = samples + 1
    local weight = math.max(1 / samples, C.minStartWeight)
    local distance = span - mean
    mean = mean + weight * distance
    variance = (1 - weight) * (variance + weight * distance * distance)
  end
  redis.call('HSET', key, Q.warmup, string.format('%.3f %.3f %d %d', mean, variance, samples, slots))
end

-- The facts for an estimate of a queue without a worker: for how many ms there has been work, what its handler declares ("ms slots") and
-- Q.warmup, with a space between. Nil if nothing is known, or no worker has come for so long that none may come.
function Warmup.of(call, queue, waiting, live_until)
  local needed, learned = unpack(redis.call('HMGET', K.queue(call, queue), Q.needed, Q.warmup))
  local declared = redis.call('HGET', K.ticked(call), 'warmup ' .. queue)
  if not learned and not declared then return nil end
  local began = since(needed, live_until)
  local elapsed = waiting > 0 and began > 0 and math.max(0, call.now - began) or 0
  if elapsed > C.longestStartMs then return nil end
  return whole(elapsed) .. ' ' .. (declared or '0 0') .. ' ' .. (learned or '0 0 0 0')
end

return Warmup
