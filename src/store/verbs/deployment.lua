-- Facts that the processes of a deployment share, in partition 0. Tiny, and needed to drain, so it is written even at the memory limit.

local VERSION = Layout.version.args

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

-- Writes the version of the data at the first start, and a later one at the first start of a release that writes it and can read the
-- existing data. Returns what is stored: the version, the oldest one beside it, the release. If this release cannot work with it, nothing
-- has changed.
register('version', { 'allow-oom' }, function(keys, args)
  local call, written, oldest_read = Call.untimed(keys), tonumber(args[VERSION.written]), tonumber(args[VERSION.oldestRead])
  local stored = redis.call('GET', K.version(call))
  -- Releases before the key was introduced wrote version 1.
  local known = stored or (redis.call('EXISTS', K.partitions(call)) == 1 and '1 1 ')
  if known then
    local version, beside = string.match(known, '^(%d+) (%d+)')
    version, beside = tonumber(version), tonumber(beside)
    if version < oldest_read or written < beside then return known end
    if stored and written <= version then return stored end
  end
  local mine = args[VERSION.written] .. ' ' .. args[VERSION.oldestBeside] .. ' ' .. args[VERSION.release]
  redis.call('SET', K.version(call), mine)
  return mine
end)
