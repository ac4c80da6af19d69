-- Gives an allocated id back: its task has come, or never will.
--
-- args[1]  id
-- args[2]  queue
--
-- Returns nothing.

register('deallocate', { 'allow-oom' }, function(keys, args)
  local call, id, queue = Call.untimed(keys), args[1], args[2]
  redis.call('UNLINK', K.allocation(call, id))
  redis.call('ZREM', K.allocated(call, queue), id)
end)
