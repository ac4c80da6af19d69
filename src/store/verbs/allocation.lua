-- Looks up what is remembered with an allocated id.
--
-- args[1]  id
--
-- Returns the value, or "" when the id is not allocated or its time is over.

register('allocation', { 'no-writes' }, function(keys, args)
  local call, id = Call.untimed(keys), args[1]
  return redis.call('GET', K.allocation(call, id)) or ''
end)
