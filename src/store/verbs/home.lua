-- Finds the partitions of tasks that are not in that of their id: see point.lua.
--
-- keys[1]  the tag of the partition of the ids
-- args[1…] id: of a task each
--
-- Returns of each its partition; "" where the task is in this one, or unknown.

register('home', { 'no-writes' }, function(keys, args)
  local call, homes = Call.untimed(keys), {}
  for n, id in ipairs(args) do homes[n] = redis.call('HGET', K.task(call, id), F.home) or '' end
  return homes
end)
