-- Writes the deployment's secret where there is none. Tiny, and needed to answer: it is written at the memory limit too.
--
-- keys[1]  the tag of partition 0
-- args[1]  proposal: the secret that is written if there is none
--
-- Returns the secret that is written: this one, or that of whoever came first.

register('secret', { 'allow-oom' }, function(keys, args)
  local key = K.secret(Call.untimed(keys))
  redis.call('SET', key, args[1], 'NX')
  return redis.call('GET', key)
end)
