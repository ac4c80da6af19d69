-- Keeps how far running tasks are.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of reports, each with the three arguments that follow
-- ARGV[2…] id, fence, progress (percent, a space, message)
--
-- Returns a verdict of each: "ok" or "stale".
-- flags: allow-oom
local base = KEYS[1]

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local id, fence, progress = unpack(ARGV, 2 + n * 3, 4 + n * 3)
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 's', 'f')
  if t[1] == 'r' and t[2] == fence then
    redis.call('HSET', key, 'p', progress)
    redis.call('PUBLISH', base .. 'e:' .. id, 'p')
    verdicts[n + 1] = 'ok'
  else
    verdicts[n + 1] = 'stale'
  end
end
return verdicts
