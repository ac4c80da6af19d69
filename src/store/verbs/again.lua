-- Notes in the record of a task that its input was submitted again, as another task.

local ARGS = Layout.again.args

-- Returns "noted", or "unknown".
register('again', {}, function(keys, args)
  local key = K.task(Call.untimed(keys), args[ARGS.id])
  -- A later task may have got the id.
  if redis.call('HGET', key, F.created) ~= args[ARGS.createdMs] then return 'unknown' end
  redis.call('HSET', key, F.again, args[ARGS.again], F.extra, '1')
  return 'noted'
end)
