-- Counts what happens to tasks (R.accepted …) in the ten-second bucket of now. A bucket's number and its count share one
-- value, so that an old one is known as old. Needs clock.
local BUCKET_MS, BUCKETS, BUCKET_SHIFT = C.bucketMs, 7, 16777216

-- The field of the queue's hash for the bucket.
local function rate_field(kind)
  return kind .. floor(now / BUCKET_MS) % BUCKETS
end

-- The value with n more; value: what it was, if there is one. A number with fewer digits than Redis writes of one.
local function counted(value, n)
  local start = floor(now / BUCKET_MS) * BUCKET_SHIFT
  local count = value and value - start or 0
  return start + (count > 0 and count < BUCKET_SHIFT and count or 0) + n
end

local function count_rate(queue, kind, n)
  local field = rate_field(kind)
  redis.call('HSET', K.queue(queue), field, counted(redis.call('HGET', K.queue(queue), field), n))
end

-- The fields of all buckets of a kind.
local function rate_fields(kind)
  local fields = {}
  for n = 1, BUCKETS do fields[n] = kind .. n - 1 end
  return fields
end

-- The count in a value, if its bucket is one from `first` to `last`; else 0.
local function count_between(value, first, last)
  value = tonumber(value)
  local bucket = value and floor(value / BUCKET_SHIFT)
  return bucket and bucket >= first and bucket <= last and value % BUCKET_SHIFT or 0
end
