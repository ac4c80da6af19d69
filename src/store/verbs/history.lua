-- The histories of queues.
--
-- args[1]  count: the latest samples to return of each
-- args[2…] queue: a name each
--
-- Returns {now (ms), of each {sample, …}, the newest first: see sample.lua}: a sample is "interval waiting running scheduled dead
-- accepted started finished failed", then the 50th and 95th percentile of service times, and of waits, ms, a hyphen for none. The
-- interval is the time of its beginning, in intervals.

register('history', { 'no-writes' }, function(keys, args)
  local call, last = Call.new(keys), tonumber(args[1]) - 1
  local histories = {}
  for n = 2, #args do histories[n - 1] = redis.call('LRANGE', K.history(call, args[n]), 0, last) end
  return { call.now_text, histories }
end)
