-- Writes the number of partitions at the first start. Tiny, and needed to drain: it is written at the memory limit too.
--
-- keys[1]  the tag of partition 0
-- args[1]  partitions
--
-- Returns the number that is written: this one, or that of the first start.

register('claim', { 'allow-oom' }, function(keys, args)
  local key = K.partitions(Call.untimed(keys))
  redis.call('SET', key, args[1], 'NX')
  return redis.call('GET', key)
end)
