-- Counts what happens to tasks (R.accepted …) in the ten-second bucket of now. A bucket's number and its count share one value, which shows
-- when it is old.
local Rate = {}

local BUCKETS, SHIFT = 7, 16777216
Rate.BUCKETS = BUCKETS

-- The number of the bucket of now.
function Rate.bucket(call)
  return math.floor(call.now / C.bucketMs)
end

-- The field of the queue's hash for the bucket.
function Rate.field(call, kind)
  return kind .. Rate.bucket(call) % BUCKETS
end

-- The value with n more; value: the present one, if there is one. A number with fewer digits than Redis would write.
function Rate.added(call, value, n)
  local start = Rate.bucket(call) * SHIFT
  local count = value and value - start or 0
  return start + (count > 0 and count < SHIFT and count or 0) + n
end

-- The fields of the queue's hash that are plain numbers.
local TOTALS = { [Q.lost] = true, [Q.dead] = true }

-- Counts n more of a kind, or in a field that is a plain number. Counts are gathered, as queue, kind and n in one list, and written once at
-- the end of the call, by Rate.write.
function Rate.count(call, queue, kind, n)
  local counts = call.counts
  if not counts then
    call.counts = { queue, kind, n }
    return
  end
  for at = 1, #counts, 3 do
    if counts[at] == queue and counts[at + 1] == kind then
      counts[at + 2] = counts[at + 2] + n
      return
    end
  end
  local length = #counts
  counts[length + 1], counts[length + 2], counts[length + 3] = queue, kind, n
end

function Rate.write(call)
  local counts = call.counts
  for at = 1, counts and #counts or 0, 3 do
    local key, kind, n = K.queue(call, counts[at]), counts[at + 1], counts[at + 2]
    if TOTALS[kind] then
      redis.call('HINCRBY', key, kind, n)
    else
      local field = Rate.field(call, kind)
      redis.call('HSET', key, field, Rate.added(call, redis.call('HGET', key, field), n))
    end
  end
end

-- The fields of all buckets of a kind.
function Rate.fields(kind)
  local fields = {}
  for n = 1, BUCKETS do fields[n] = kind .. n - 1 end
  return fields
end

-- The count in a value, if its bucket is one from `first` to `last`; else 0.
function Rate.between(value, first, last)
  value = tonumber(value)
  local bucket = value and math.floor(value / SHIFT)
  return bucket and bucket >= first and bucket <= last and value % SHIFT or 0
end

return Rate
