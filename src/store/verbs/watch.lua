-- Looks at tasks as inspect.lua does, and names a process in their records: it is told of what happens to them from now on.
--
-- args[1]  process: what records call it
-- args[2]  count: number of tasks, each with the two arguments that follow
-- args[3…] id, result ("1" to have the stored result of a finished task, "0" not to)
--
-- Returns what inspect.lua returns.

register('watch', { 'allow-oom' }, function(keys, args)
  local call, process = Call.new(keys), args[1]
  for n = 1, tonumber(args[2]) do
    local key = K.task(call, args[n * 2 + 1])
    if redis.call('HEXISTS', key, F.state) == 1 then Notices.listen(key, process) end
  end
  return Look.at(call, args, 2)
end)
