-- Facts that the processes of a deployment share, in partition 0. Tiny, and needed to drain, so it is written even at the memory limit.

-- How many names of libraries are remembered.
local MAX_LIBRARIES = 10

-- Writes what the processes of a deployment have to agree on, unless it is there. Where the data is of another version, nothing is written.
-- Returns what is stored: of this process, or of the first one.
register('claim', { 'allow-oom' }, function(call, claim)
  local stored = redis.call('MGET', K.version(call), K.release(call), K.partitions(call), K.secret(call))
  local version, release, partitions, secret = unpack(stored)
  if not version or tonumber(version) == claim.version then
    if not version then redis.call('SET', K.version(call), claim.version) end
    if release ~= claim.release then redis.call('SET', K.release(call), claim.release) end
    if not partitions then redis.call('SET', K.partitions(call), claim.partitions) end
    if not secret then redis.call('SET', K.secret(call), claim.secret) end
    version, release = claim.version, claim.release
  end
  return {
    version = tonumber(version),
    release = release or '',
    partitions = tonumber(partitions or claim.partitions),
    secret = secret or claim.secret,
  }
end)

-- Notes the library that a process uses, when it starts. Returns the names of the latest ones, the newest first.
register('libraries', { 'allow-oom' }, function(call, asked)
  local key, names = K.ticked(call), { asked.name }
  for name in string.gmatch(redis.call('HGET', key, 'libraries') or '', '%S+') do
    if name ~= names[1] and #names < MAX_LIBRARIES then names[#names + 1] = name end
  end
  redis.call('HSET', key, 'libraries', table.concat(names, ' '))
  return names
end)
