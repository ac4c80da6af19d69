-- Prolongs leases.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of leases, each with the four arguments that follow
-- ARGV[2…] queue, id, fence, lease (ms; "=" and ms: as long as it was taken for over HTTP, or so long where it was not)
--
-- Returns a verdict of each: "ok", "cancel" (prolonged, but the task is to be given up), "stale" (no longer the worker's); with "="
-- followed by a space and the lease, ms.
-- flags: allow-oom
local base = KEYS[1]
--#include clock

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local queue, id, fence, lease = unpack(ARGV, 2 + n * 4, 5 + n * 4)
  local t = redis.call('HMGET', K.task(id), F.state, F.fence, F.cancel)
  if t[1] == S.running and t[2] == fence then
    local verdict, other = t[3] and 'cancel' or 'ok', string.match(lease, '^=(%d+)$')
    if other then
      lease = redis.call('HGET', K.task(id), F.lease) or other
      verdict = verdict .. ' ' .. lease
    end
    redis.call('ZADD', K.leases(queue), whole(now + tonumber(lease)), id)
    verdicts[n + 1] = verdict
  else
    verdicts[n + 1] = 'stale'
  end
end
return verdicts
