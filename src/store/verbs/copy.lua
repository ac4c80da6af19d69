-- Copies tasks with everything that belongs to each, as of one instant: its record, input, result, steps and output, and its places in the
-- indexes.

local whole = Number.whole
local ARGS, COPIED = Layout.copy.args, Layout.copy.copied

-- The content of a string is the string itself; otherwise the names and values of a hash or the members and scores of a sorted set,
-- alternating, or the values of a list.
local function part(call, key, kind, expires, content)
  local name = string.sub(key, #call.base + 1)
  return { [COPIED.key] = name, [COPIED.type] = kind, [COPIED.expiresMs] = expires, [COPIED.items] = content }
end

-- Adds a key to the parts of a task. Returns how many bytes its content has.
local function add(call, parts, key, kind, content)
  if not content or (kind ~= 'string' and #content == 0) then return 0 end
  local left = redis.call('PTTL', key)
  parts[#parts + 1] = part(call, key, kind, left < 0 and '0' or whole(call.now + left), content)
  if kind == 'string' then return #content end
  local bytes = 0
  for _, value in ipairs(content) do bytes = bytes + #value end
  return bytes
end

-- Adds its place in an index. An entry has no expiry of its own.
local function add_entry(call, parts, key, id)
  local score = redis.call('ZSCORE', key, id)
  if score then parts[#parts + 1] = part(call, key, 'zset', '0', { id, score }) end
end

-- Returns the parts of a task, and how many bytes they have.
local function copy(call, id)
  local key, parts = K.task(call, id), {}
  local bytes = add(call, parts, key, 'hash', redis.call('HGETALL', key))
  if #parts == 0 then return parts, bytes end
  local input, result, steps, output = K.input(call, id), K.result(call, id), K.steps(call, id), K.output(call, id)
  bytes = bytes + add(call, parts, input, 'string', redis.call('GET', input))
    + add(call, parts, result, 'string', redis.call('GET', result))
    + add(call, parts, steps, 'hash', redis.call('HGETALL', steps))
    + add(call, parts, output, 'list', redis.call('LRANGE', output, 0, -1))
  local queue, of_key = unpack(redis.call('HMGET', key, F.queue, F.key))
  if not queue then return parts, bytes end
  for _, index in ipairs({ K.waiting, K.scheduled, K.leases, K.dead, K.deadlines, K.startable }) do
    add_entry(call, parts, index(call, queue), id)
  end
  local _, name = Keyed.parts(of_key)
  if name ~= '' then add_entry(call, parts, Keyed.line(call, queue, name), id) end
  return parts, bytes
end

-- Returns the parts of each task, in this order; nothing for an unknown task. Fewer than requested if they became too long: after that many
-- bytes no further task is begun.
register('copy', { 'no-writes' }, function(keys, args)
  local call, max, all_bytes = Call.new(keys), tonumber(args[ARGS.bytes]), 0
  local copies = {}
  for n = 1, tonumber(args[ARGS.count]) do
    if n > 1 and all_bytes >= max then break end
    local parts, bytes = copy(call, args[ARGS.count + n])
    copies[n], all_bytes = parts, all_bytes + bytes
  end
  return copies
end)
