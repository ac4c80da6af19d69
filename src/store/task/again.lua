-- Notes in the record of a task that its input was submitted again, as another task. Returns "noted", or "unknown".
register('again', {}, function(call, asked)
  local key = K.task(call, asked.id)
  -- A later task may have got the id.
  if redis.call('HGET', key, F.created) ~= Number.whole(asked.createdMs) then return 'unknown' end
  redis.call('HSET', key, F.again, asked.again, F.extra, '1')
  return 'noted'
end)
