-- The stored form of a result. A short one is in the task's hash, in fields that keep the hash compact; a longer one has a Redis key of its
-- own.
local Result = {}

local whole = Number.whole
local PARTS = { F.result, F.result2, F.result3, F.result4 }
local PART_BYTES = 64
local MAX_INLINE = OPTIONS.inlineResultBytes
local STATE, ENDED, EXPIRES, RESULT = F.state, F.ended, F.expires, F.result

-- Redis since 7.4 and Valkey since 9 can expire a field. Elsewhere readers compare the time of expiry, and the fields go with the hash.
local fields_expire
local function can_expire_fields()
  if fields_expire == nil then
    fields_expire = (redis.REDIS_VERSION_NUM or 0) >= 0x070400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x090000
  end
  return fields_expire
end

-- A value for an answer: only its length, as a number, if it is longer than `most`. Copying large values into answers would delay all other
-- calls; they are read one by one, outside of the library. A value that is not there has length 0.
function Result.value_or_length(key, max)
  local value = redis.call('GETRANGE', key, 0, max)
  if #value > 0 and #value <= max then return value end
  return redis.call('STRLEN', key)
end

-- How long a task that ends now is kept: {keep (ms), tombstone, expires and ttl of the record, as text, fields_expire: whether Redis
-- removes fields}.
--   keep  how long the result stays, ms; tombstone: how much longer the answer is "expired" instead of "unknown", ms
function Result.retention(call, keep, tombstone)
  local last = call.retention
  keep, tombstone = tonumber(keep), tonumber(tombstone)
  if last and last.keep == keep and last.tombstone == tombstone then return last end
  call.retention = {
    keep = keep,
    tombstone = tombstone,
    expires = whole(call.now + keep),
    ttl = whole(keep + tombstone),
    fields_expire = can_expire_fields(),
  }
  return call.retention
end

-- Makes a state terminal, with its result if it has one (otherwise nil).
function Result.mark_ended(call, id, key, state, retention, result)
  local length = result and #result
  local is_inline = length and length <= MAX_INLINE
  if is_inline and length < PART_BYTES then
    redis.call('HSET', key, STATE, state, ENDED, call.now_text, EXPIRES, retention.expires, RESULT, result)
  else
    local fields = { STATE, state, ENDED, call.now_text, EXPIRES, retention.expires }
    for n = 1, is_inline and math.ceil(length / PART_BYTES) or 0 do
      fields[5 + n * 2], fields[6 + n * 2] = PARTS[n], string.sub(result, (n - 1) * PART_BYTES + 1, n * PART_BYTES)
    end
    redis.call('HSET', key, unpack(fields))
    if length and not is_inline then redis.call('SET', K.result(call, id), result, 'PX', retention.keep) end
  end
  redis.call('PEXPIRE', key, retention.ttl)
  if is_inline and retention.fields_expire then
    redis.call('HPEXPIRE', key, retention.keep, 'FIELDS', 4, F.result, F.result2, F.result3, F.result4)
  end
end

-- The result, or of one that is longer than `most` its length, as a number; first: what the field of its first part holds.
function Result.read(call, id, key, first, max)
  if not first then return Result.value_or_length(K.result(call, id), max) end
  if #first < PART_BYTES then return first end
  local rest = redis.call('HMGET', key, F.result2, F.result3, F.result4)
  return first .. (rest[1] or '') .. (rest[2] or '') .. (rest[3] or '')
end

function Result.drop(call, id, key)
  redis.call('UNLINK', K.result(call, id))
  redis.call('HDEL', key, unpack(PARTS))
end

return Result
