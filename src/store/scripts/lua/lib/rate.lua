-- Counts n events of a kind (R.accepted …) in the ten-second bucket of now. A bucket's number and its count
-- share one value, so that an old one is known as old.
local BUCKET_MS, BUCKETS, BUCKET_SHIFT = C.bucketMs, 7, 16777216
local function count_rate(queue, kind, n)
  local bucket = math.floor(now / BUCKET_MS)
  local field = kind .. bucket % BUCKETS
  local value = tonumber(redis.call('HGET', K.queue(queue), field) or 0)
  local count = math.floor(value / BUCKET_SHIFT) == bucket and value % BUCKET_SHIFT or 0
  redis.call('HSET', K.queue(queue), field, whole(bucket * BUCKET_SHIFT + count + n))
end
