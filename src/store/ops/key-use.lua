-- When each API key was last used, to the hour. In partition 0.

local whole = Number.whole
local HOUR_MS = 3600000
-- So many keys are remembered; those that were last used before all others leave.
local MAX_KEYS = 10000

-- These keys are used now. Returns how long this hour lasts, ms: until then there is nothing new to tell of them.
register('noteKeyUses', { 'allow-oom' }, function(call, asked)
  local key, hour = K.keyUses(call), call.now - call.now % HOUR_MS
  for _, name in ipairs(asked.keys) do redis.call('ZADD', key, whole(hour), name) end
  local surplus = redis.call('ZCARD', key) - MAX_KEYS
  if surplus > 0 then redis.call('ZPOPMIN', key, surplus) end
  return hour + HOUR_MS - call.now
end)

-- Returns the keys that have been used, each followed by when, ms.
register('keyUses', { 'no-writes' }, function(call)
  return redis.call('ZRANGE', K.keyUses(call), 0, -1, 'WITHSCORES')
end)
