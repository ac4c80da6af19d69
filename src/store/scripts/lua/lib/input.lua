-- A long input, of which the record has a digest: in fields of the task's hash that do not cost the hash its compact encoding, or, above
-- INLINE_INPUT_BYTES, in a key of its own.
local INLINE_INPUT_BYTES = C.inlineInputBytes
local INPUT_PARTS = { F.input1, F.input2, F.input3, F.input4 }
local INPUT_PART_BYTES = 64

-- Puts its fields and values behind the last of some, and returns which is the last now; or stores it in its key.
local function put_input(fields, last, id, input)
  if #input > INLINE_INPUT_BYTES then
    redis.call('SET', K.input(id), input)
    return last
  end
  for n = 1, math.max(1, math.ceil(#input / INPUT_PART_BYTES)) do
    fields[last + 1], fields[last + 2] = INPUT_PARTS[n], string.sub(input, (n - 1) * INPUT_PART_BYTES + 1, n * INPUT_PART_BYTES)
    last = last + 2
  end
  return last
end

-- Stores it where there is none.
local function store_input(id, key, input)
  local fields = {}
  if put_input(fields, 0, id, input) > 0 then redis.call('HSET', key, unpack(fields)) end
end

-- Returns it if it is in the hash, else nil.
local function inline_input(key)
  local parts = redis.call('HMGET', key, unpack(INPUT_PARTS))
  return parts[1] and parts[1] .. (parts[2] or '') .. (parts[3] or '') .. (parts[4] or '') or nil
end

local function has_input(id, key)
  return redis.call('EXISTS', K.input(id)) == 1 or redis.call('HEXISTS', key, INPUT_PARTS[1]) == 1
end

local function drop_input(id, key)
  redis.call('UNLINK', K.input(id))
  redis.call('HDEL', key, unpack(INPUT_PARTS))
end
