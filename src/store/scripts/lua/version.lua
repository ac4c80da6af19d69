-- Writes the version of the data at the first start, and a later one at the first start of a release that writes it and can go on with
-- what is there. Tiny, and needed to drain: it is written at the memory limit too.
--
-- KEYS[1]  base: the tag of partition 0
-- ARGV[1]  written: the version that this release writes
-- ARGV[2]  oldest read: the oldest one whose data it can go on with
-- ARGV[3]  oldest beside: the oldest one whose processes can work on what it writes
-- ARGV[4]  release
--
-- Returns what is stored: the version, the oldest one beside it, the release. If this release cannot work with it, nothing has changed.
-- flags: allow-oom
local base = KEYS[1]

local written, oldest_read = tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest_beside, release = ARGV[3], ARGV[4]
local stored = redis.call('GET', K.version)
-- Releases before the key was introduced wrote version 1.
local known = stored or (redis.call('EXISTS', K.partitions) == 1 and '1 1 ')
if known then
  local version, beside = string.match(known, '^(%d+) (%d+)')
  version, beside = tonumber(version), tonumber(beside)
  if version < oldest_read or written < beside then return known end
  if stored and written <= version then return stored end
  if written < version then return known end
end
local mine = ARGV[1] .. ' ' .. oldest_beside .. ' ' .. release
redis.call('SET', K.version, mine)
return mine
