-- Stops or starts the taking of work from a queue. What runs goes on.
--
-- args[1]  queue
-- args[2]  paused: "1" or "0"
--
-- Returns nothing.

register('pause', { 'allow-oom' }, function(keys, args)
  local call, queue, paused = Call.untimed(keys), args[1], args[2]
  if paused == '1' then
    redis.call('HSET', K.queue(call, queue), Q.paused, '1')
  else
    redis.call('HDEL', K.queue(call, queue), Q.paused)
    Notices.work(call, queue)
  end
end)
