-- A long input, whose digest is in the record: stored in fields of the task's hash that keep the hash compact, or, above
-- C.inlineInputBytes, in a Redis key of its own.
local Input = {}

local PARTS = { F.input1, F.input2, F.input3, F.input4 }
local PART_BYTES = 64

-- Appends its fields and values to a list, and returns the new last index; or stores it in its Redis key.
function Input.put(call, fields, last, id, input)
  if #input > C.inlineInputBytes then
    redis.call('SET', K.input(call, id), input)
    return last
  end
  for n = 1, math.max(1, math.ceil(#input / PART_BYTES)) do
    fields[last + 1], fields[last + 2] = PARTS[n], string.sub(input, (n - 1) * PART_BYTES + 1, n * PART_BYTES)
    last = last + 2
  end
  return last
end

-- Stores it if there is none.
function Input.store(call, id, key, input)
  local fields = {}
  if Input.put(call, fields, 0, id, input) > 0 then redis.call('HSET', key, unpack(fields)) end
end

-- Returns it if it is in the hash, else nil.
function Input.inline(key)
  local parts = redis.call('HMGET', key, unpack(PARTS))
  return parts[1] and parts[1] .. (parts[2] or '') .. (parts[3] or '') .. (parts[4] or '') or nil
end

function Input.exists(call, id, key)
  return redis.call('EXISTS', K.input(call, id)) == 1 or redis.call('HEXISTS', key, PARTS[1]) == 1
end

-- Keeps it as long as the result. Where fields cannot expire, those of the hash stay with it, and are no longer read.
function Input.keep(call, id, key, retention)
  if redis.call('PEXPIRE', K.input(call, id), retention.keep) == 0 and retention.fields_expire then
    redis.call('HPEXPIRE', key, retention.keep, 'FIELDS', 4, unpack(PARTS))
  end
end

function Input.drop(call, id, key)
  redis.call('UNLINK', K.input(call, id))
  redis.call('HDEL', key, unpack(PARTS))
end

return Input
