-- Keeps how far running tasks are.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of reports, each with the three arguments that follow
-- ARGV[2…] id, fence, progress (percent, a space, message)
--
-- Returns a verdict of each: "ok" or "stale".
-- flags: allow-oom
local base = KEYS[1]
--#include run
--#include notify

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local id, fence, progress = unpack(ARGV, 2 + n * 3, 4 + n * 3)
  local key = K.task(id)
  local state, run, listeners = unpack(redis.call('HMGET', key, F.state, F.run, F.listeners))
  local held_under = run_of(run)
  if state == S.running and held_under == fence then
    redis.call('HSET', key, F.progress, progress, F.extra, '1')
    notify(id, N.progress, listeners)
    verdicts[n + 1] = 'ok'
  else
    verdicts[n + 1] = 'stale'
  end
end
send_notices()
return verdicts
