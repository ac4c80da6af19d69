-- How many tasks of a queue may start now, but for its rate.
--
-- args[1]  queue
--
-- Returns how many: all that wait, in a keyed queue those of them that wait for no other; none while the queue is paused.

register('startable', { 'no-writes' }, function(keys, args)
  local call, queue = Call.untimed(keys), args[1]
  local paused, keyed = unpack(redis.call('HMGET', K.queue(call, queue), Q.paused, Q.keyed))
  if paused == '1' then return 0 end
  return redis.call('ZCARD', keyed and K.startable(call, queue) or K.waiting(call, queue))
end)
