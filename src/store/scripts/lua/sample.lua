-- Adds to the histories of queues how they stand, and what happened to them in the intervals that have ended since the last call. Any
-- number of processes may call it at any time: each interval gets one sample, or none if nothing has changed. The first process to call
-- in an interval takes its samples; if it stops half-way, the next interval makes up for that.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  process: a word that no other process has
-- ARGV[2]  empty: "1" where the last call of this process for these queues has found them so
-- ARGV[3…] queue: a name each
--
-- Returns {ends, empty}: the ms until the present interval ends; 1 where nothing is in any of the queues, else 0.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run
--#include rate
--#include percentiles

-- The history of a queue that does not change is kept for so long, ms.
local KEEP_MS = 2 * C.mostSamples * BUCKET_MS

local process = ARGV[1]
local this = floor(now / BUCKET_MS)
-- Of each kind of event its buckets, all that are kept.
local fields = {}
for _, kind in ipairs({ R.accepted, R.finished, R.failed, R.returned }) do
  for _, field in ipairs(rate_fields(kind)) do fields[#fields + 1] = field end
end

-- Nothing is in any of these queues.
local empty = 0
-- The interval of their last samples, after which nothing was in them; nil if it has to be read.
local empty_since
local function sample(queue)
  local history = K.history(queue)
  local last, waiting, running, scheduled, dead = empty_since, nil, nil, nil, nil
  if not last then
    last, waiting, running, scheduled, dead =
      string.match(redis.call('LINDEX', history, 0) or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) ')
  end
  last = tonumber(last or 0)
  if last >= this - 1 and last <= this then return end
  if last > this then
    -- The clock was set back.
    redis.call('UNLINK', history)
    last, waiting, running, scheduled, dead = 0, nil, nil, nil, nil
  end
  local counters = redis.call('HMGET', K.queue(queue), unpack(fields))
  local function count(kind, bucket)
    return count_between(counters[kind * BUCKETS + bucket % BUCKETS + 1], bucket, bucket)
  end
  local gauges = { 0, 0, 0, 0 }
  if empty == 0 then
    for n, index in ipairs({ K.waiting(queue), K.leases(queue), K.scheduled(queue), K.dead(queue) }) do
      gauges[n] = redis.call('ZCARD', index)
    end
  end
  local before = (waiting or '0') .. ' ' .. (running or '0') .. ' ' .. (scheduled or '0') .. ' ' .. (dead or '0')
  local after, had = table.concat(gauges, ' '), tonumber(running or 0)
  for bucket = math.max(last + 1, this - BUCKETS + 1), this - 1 do
    local accepted, finished, failed, returned = count(0, bucket), count(1, bucket), count(2, bucket), count(3, bucket)
    -- How it stood at the end of an interval of which nobody took a sample is not known: as before.
    local stood, ran = before, had
    if bucket == this - 1 then stood, ran = after, gauges[2] end
    -- What has left the slots, or is in them now, has started.
    local started = math.max(0, ran - had + finished + returned)
    if stood ~= before or accepted + started + finished + failed > 0 then
      local times = finished > 0 and percentiles_of(queue, bucket * BUCKET_MS, BUCKET_MS) or '- - - -'
      local counts = accepted .. ' ' .. started .. ' ' .. finished .. ' ' .. failed
      local length = redis.call('LPUSH', history, whole(bucket) .. ' ' .. stood .. ' ' .. counts .. ' ' .. times)
      if length > C.mostSamples then redis.call('LTRIM', history, 0, C.mostSamples - 1) end
      redis.call('PEXPIRE', history, KEEP_MS)
      before, had = stood, ran
    end
  end
end

local of, by = string.match(redis.call('HGET', K.ticked, 'sampled') or '', '^(%d+) (.+)$')
local is_new = tonumber(of) ~= this
if is_new then redis.call('HSET', K.ticked, 'sampled', whole(this) .. ' ' .. process) end
if is_new or by == process then
  local keys = {}
  for n = 3, #ARGV do
    local queue = ARGV[n]
    for _, key in ipairs({ K.waiting(queue), K.leases(queue), K.scheduled(queue), K.dead(queue) }) do keys[#keys + 1] = key end
  end
  if redis.call('EXISTS', unpack(keys)) == 0 then empty = 1 end
  -- Nobody else has added a sample in between.
  if empty == 1 and ARGV[2] == '1' and is_new and by == process and tonumber(of) == this - 1 then empty_since = this - 2 end
  for n = 3, #ARGV do sample(ARGV[n]) end
end
return { whole((this + 1) * BUCKET_MS - now), empty }
