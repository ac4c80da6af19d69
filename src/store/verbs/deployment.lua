-- Facts that the processes of a deployment share, in partition 0. Tiny, and needed to drain, so it is written even at the memory limit.

-- Writes the number of partitions at the first start. Returns the stored number: this one, or that of the first start.
register('claim', { 'allow-oom' }, function(keys, args)
  local key = K.partitions(Call.untimed(keys))
  redis.call('SET', key, args[Layout.claim.args.partitions], 'NX')
  return redis.call('GET', key)
end)

-- Writes the deployment's secret if there is none. Returns the stored secret: this one, or that of the first process.
register('secret', { 'allow-oom' }, function(keys, args)
  local key = K.secret(Call.untimed(keys))
  redis.call('SET', key, args[Layout.secret.args.proposal], 'NX')
  return redis.call('GET', key)
end)

-- Writes the version of the data unless a later one is stored. Returns what is stored then.
register('version', { 'allow-oom' }, function(keys, args)
  local key, mine = K.version(Call.untimed(keys)), args[Layout.version.args.version]
  local stored = redis.call('GET', key)
  if stored and tonumber(stored) >= tonumber(mine) then return stored end
  redis.call('SET', key, mine)
  return mine
end)
