-- The figures of queues.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1…] queue: a name each
--
-- Returns of each {snapshot (see lib/snapshot.lua), dead, oldest wait (ms, "" for none), accepted in the last minute, finished in it, rest (see
-- lib/rest.lua, "" for none), newcomer (how many of a fair line would stand before a newcomer whose key does not wait; "" of any other), failed in the last minute, late (ms that
-- the first scheduled or retrying task has been due, "" for none)}.
-- flags: no-writes
local base = KEYS[1]
--#include clock
--#include run
--#include snapshot
--#include rate
--#include fair

local FIELDS = {}
for _, kind in ipairs({ R.accepted, R.finished, R.failed }) do FIELDS[kind] = rate_fields(kind) end

local function last_minute(key, kind)
  local bucket, total = floor(now / BUCKET_MS), 0
  -- How much of the oldest bucket lies within the minute.
  local share = 1 - now % BUCKET_MS / BUCKET_MS
  -- Later buckets are of before the clock was set back.
  for _, value in ipairs(redis.call('HMGET', key, unpack(FIELDS[kind]))) do
    total = total + count_between(value, bucket - 5, bucket) + share * count_between(value, bucket - 6, bucket - 6)
  end
  return floor(total + 0.5)
end

-- It would start at the virtual time, behind all who start then.
local function before_newcomer(queue)
  local time = tonumber(redis.call('HGET', K.queue(queue), Q.virtual .. C.defaultPriority) or -1)
  local behind = fair_score(C.defaultPriority, (start_of(time) + 1) * TURNS - 0.5)
  return redis.call('ZCOUNT', K.waiting(queue), '-inf', '(' .. behind)
end

local answers = {}
for n, queue in ipairs(ARGV) do
  local key = K.queue(queue)
  local first = redis.call('ZRANGE', K.waiting(queue), 0, 0, 'WITHSCORES')
  local due = redis.call('ZRANGE', K.scheduled(queue), 0, 0, 'WITHSCORES')[2]
  local created = tonumber(first[1] and redis.call('HGET', K.task(first[1]), F.created) or nil)
  answers[n] = {
    snapshot_of(queue),
    redis.call('ZCARD', K.dead(queue)),
    created and whole(math.max(0, now - created)) or '',
    last_minute(key, R.accepted),
    last_minute(key, R.finished),
    redis.call('HGET', key, Q.rest) or '',
    -- Only scores of fair lines have a fraction.
    first[2] and first[2] % 1 ~= 0 and before_newcomer(queue) or '',
    last_minute(key, R.failed),
    due and tonumber(due) < now and whole(now - due) or '',
  }
end
return answers
