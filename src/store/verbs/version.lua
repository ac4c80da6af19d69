-- Writes the version of the data at the first start, and a later one at the first start of a release that writes it and can go on with
-- what is there. Tiny, and needed to drain: it is written at the memory limit too.
--
-- keys[1]  the tag of partition 0
-- args[1]  written: the version that this release writes
-- args[2]  oldest read: the oldest one whose data it can go on with
-- args[3]  oldest beside: the oldest one whose processes can work on what it writes
-- args[4]  release
--
-- Returns what is stored: the version, the oldest one beside it, the release. If this release cannot work with it, nothing has changed.

register('version', { 'allow-oom' }, function(keys, args)
  local call, written, oldest_read = Call.untimed(keys), tonumber(args[1]), tonumber(args[2])
  local oldest_beside, release = args[3], args[4]
  local stored = redis.call('GET', K.version(call))
  -- Releases before the key was introduced wrote version 1.
  local known = stored or (redis.call('EXISTS', K.partitions(call)) == 1 and '1 1 ')
  if known then
    local version, beside = string.match(known, '^(%d+) (%d+)')
    version, beside = tonumber(version), tonumber(beside)
    if version < oldest_read or written < beside then return known end
    if stored and written <= version then return stored end
    if written < version then return known end
  end
  local mine = args[1] .. ' ' .. oldest_beside .. ' ' .. release
  redis.call('SET', K.version(call), mine)
  return mine
end)
