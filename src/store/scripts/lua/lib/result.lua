-- The stored form of a result. A short one is in the task's hash, in fields that do not cost the hash its compact encoding; a longer one
-- is a key of its own. Needs clock and large.
--   inline_bytes  the most that is in the hash; 0 where each result is to be a key, see script.ts
local inline_bytes = C.inlineResultBytes
local PART_BYTES = 64
-- Redis since 7.4 and Valkey since 9 can expire a field. Elsewhere readers compare the time of expiry, and the fields go with the hash.
local FIELDS_EXPIRE = (redis.REDIS_VERSION_NUM or 0) >= 0x070400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x090000

-- The times of what ends now; they are the same for most tasks of a call.
local kept, entombed, expires, ttl

-- Makes a state terminal, with its result where it has one (else nil). Returns when that expires, as text.
--   keep  how long the result stays, ms; tombstone: how much longer "expired" is told from "unknown", ms
local function mark_ended(id, key, state, keep, tombstone, result)
  if keep ~= kept or tombstone ~= entombed then
    kept, entombed, expires, ttl = keep, tombstone, whole(now + keep), whole(keep + tombstone)
  end
  local length = result and #result
  local is_inline = length and length <= inline_bytes
  if is_inline and length < PART_BYTES then
    redis.call('HSET', key, F.state, state, F.ended, now_text, F.expires, expires, F.result, result)
  else
    local parts, fields = { F.result, F.result2, F.result3, F.result4 }, { F.state, state, F.ended, now_text, F.expires, expires }
    for n = 1, is_inline and math.ceil(length / PART_BYTES) or 0 do
      fields[5 + n * 2], fields[6 + n * 2] = parts[n], string.sub(result, (n - 1) * PART_BYTES + 1, n * PART_BYTES)
    end
    redis.call('HSET', key, unpack(fields))
    if length and not is_inline then redis.call('SET', K.result(id), result, 'PX', keep) end
  end
  redis.call('PEXPIRE', key, ttl)
  if FIELDS_EXPIRE and is_inline then
    redis.call('HPEXPIRE', key, keep, 'FIELDS', 4, F.result, F.result2, F.result3, F.result4)
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
  redis.call('HDEL', key, F.result, F.result2, F.result3, F.result4)
end
