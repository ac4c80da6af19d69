-- Keeps how far running tasks are.
--
-- args[1]  count: number of reports, each with the three arguments that follow
-- args[2…] id, fence, progress (percent, a space, message)
--
-- Returns a verdict of each: "ok" or "stale".

local function keep(call, id, fence, progress)
  local key = K.task(call, id)
  local state, run, listeners = unpack(redis.call('HMGET', key, F.state, F.run, F.listeners))
  local held_under = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return 'stale' end
  redis.call('HSET', key, F.progress, progress, F.extra, '1')
  Notices.change(call, id, N.progress, listeners)
  return 'ok'
end

register('progress', { 'allow-oom' }, function(keys, args)
  local call, verdicts = Call.untimed(keys), {}
  for n = 1, tonumber(args[1]) do verdicts[n] = keep(call, unpack(args, n * 3 - 1, n * 3 + 1)) end
  Notices.send(call)
  return verdicts
end)
