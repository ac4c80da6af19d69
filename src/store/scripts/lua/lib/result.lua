-- The stored form of a result. One of up to INLINE_BYTES is in the task's hash, in fields that do not cost the hash its compact
-- encoding; a longer one is a key of its own. Needs clock and large.
local INLINE_BYTES = C.inlineResultBytes
local PARTS, PART_BYTES = { F.result, F.result2, F.result3, F.result4 }, 64
-- Redis since 7.4 and Valkey since 9 can expire a field. Elsewhere readers compare the time of expiry, and the fields go with the hash.
local FIELDS_EXPIRE = (redis.REDIS_VERSION_NUM or 0) >= 0x070400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x090000

-- The times of what ends now, as text; they are the same for most tasks of a call.
local kept, entombed, expires, keep_text, ttl_text
local function set_times(keep, tombstone)
  if keep == kept and tombstone == entombed then return end
  kept, entombed = keep, tombstone
  expires, keep_text, ttl_text = whole(now + keep), whole(keep), whole(keep + tombstone)
end

-- Makes a state terminal, with its result where it has one (else nil). Returns when that expires, as text.
--   keep  how long the result stays, ms; tombstone: how much longer "expired" is told from "unknown", ms
local function mark_ended(id, key, state, keep, tombstone, result)
  set_times(keep, tombstone)
  local length = result and #result
  if not length or length > INLINE_BYTES then
    redis.call('HSET', key, F.state, state, F.ended, now_text, F.expires, expires)
    if result then redis.call('SET', K.result(id), result, 'PX', keep_text) end
  elseif length < PART_BYTES then
    redis.call('HSET', key, F.state, state, F.ended, now_text, F.expires, expires, F.result, result)
  else
    local fields = { F.state, state, F.ended, now_text, F.expires, expires }
    for n = 1, math.ceil(length / PART_BYTES) do
      fields[5 + n * 2], fields[6 + n * 2] = PARTS[n], string.sub(result, (n - 1) * PART_BYTES + 1, n * PART_BYTES)
    end
    redis.call('HSET', key, unpack(fields))
  end
  redis.call('PEXPIRE', key, ttl_text)
  if FIELDS_EXPIRE and length and length <= INLINE_BYTES then
    redis.call('HPEXPIRE', key, keep_text, 'FIELDS', #PARTS, unpack(PARTS))
  end
  return expires
end

-- The result, or of one that is longer than `most` its length, as a number; first: what the field of its first part holds.
local function read_result(id, key, first, most)
  if not first then return value_or_length(K.result(id), most) end
  if #first < PART_BYTES then return first end
  local rest = redis.call('HMGET', key, F.result2, F.result3, F.result4)
  return first .. (rest[1] or '') .. (rest[2] or '') .. (rest[3] or '')
end

local function drop_result(id, key)
  redis.call('UNLINK', K.result(id))
  redis.call('HDEL', key, unpack(PARTS))
end
