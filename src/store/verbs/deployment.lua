-- Facts that the processes of a deployment share, in partition 0. Tiny, and needed to drain, so it is written even at the memory limit.

-- How many names of libraries are remembered.
local MAX_LIBRARIES = 10

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

-- Notes the library that a process uses, when it starts. Returns the names of the latest ones, the newest first.
register('libraries', { 'allow-oom' }, function(keys, args)
  local key, names = K.ticked(Call.untimed(keys)), { args[Layout.libraries.args.name] }
  for name in string.gmatch(redis.call('HGET', key, 'libraries') or '', '%S+') do
    if name ~= names[1] and #names < MAX_LIBRARIES then names[#names + 1] = name end
  end
  local text = table.concat(names, ' ')
  redis.call('HSET', key, 'libraries', text)
  return text
end)
