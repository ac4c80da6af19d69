-- What a starting process does: it agrees with the other processes of its deployment, notes its library, and tries what its user
-- may do. Tiny, and needed to drain, so it works even at the memory limit.

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

-- Tries every command that the library uses on a key of its own, which it removes: the store's user may not be allowed some of them, and a
-- call that is stopped half-way has changed something. Returns, for each command that was refused for lack of a right, its name and the
-- error of Redis. If Redis takes no writes: its error.
register('probe', { 'allow-oom' }, function(call, asked)
  local key = K.probe(call)
  local tries = {
    { 'SET', key, 1 },
    { 'GET', key },
    { 'MGET', key },
    { 'GETRANGE', key, 0, 0 },
    { 'STRLEN', key },
    { 'EXISTS', key },
    { 'PEXPIRE', key, 60000 },
    { 'PEXPIREAT', key, 4102444800000 },
    { 'PTTL', key },
    { 'PERSIST', key },
    { 'RENAME', key, key },
    { 'DEL', key },
    { 'HSET', key, 'field', 1 },
    { 'HSETNX', key, 'field', 1 },
    { 'HGET', key, 'field' },
    { 'HGETALL', key },
    { 'HMGET', key, 'field' },
    { 'HEXISTS', key, 'field' },
    { 'HINCRBY', key, 'field', 1 },
    { 'HLEN', key },
    { 'HSCAN', key, 0 },
    { 'HPEXPIRE', key, 60000, 'FIELDS', 1, 'field' },
    { 'HDEL', key, 'field' },
    { 'LPUSH', key, 1 },
    { 'RPUSH', key, 1 },
    { 'LINDEX', key, 0 },
    { 'LLEN', key },
    { 'LRANGE', key, 0, 0 },
    { 'LSET', key, 0, 1 },
    { 'LREM', key, 0, 2 },
    { 'LTRIM', key, 0, 0 },
    { 'RPOP', key },
    { 'UNLINK', key },
    { 'ZADD', key, 0, 'member' },
    { 'ZCARD', key },
    { 'ZCOUNT', key, 0, 0 },
    { 'ZMSCORE', key, 'member' },
    { 'ZRANDMEMBER', key },
    { 'ZRANGE', key, 0, 0 },
    { 'ZRANGEBYLEX', key, '-', '+' },
    { 'ZRANGEBYSCORE', key, 0, 0 },
    { 'ZRANK', key, 'member' },
    { 'ZREVRANGE', key, 0, 0 },
    { 'ZREVRANGEBYSCORE', key, 0, 0 },
    { 'ZSCORE', key, 'member' },
    { 'ZREM', key, 'member' },
    { 'ZPOPMIN', key },
    { 'UNLINK', key },
    { 'XADD', key, '*', 'field', 1 },
    { 'XDEL', key, '1-1' },
    { 'XRANGE', key, '-', '+' },
    { 'XREVRANGE', key, '+', '-' },
    { 'TIME' },
    -- No queue has this name.
    { asked.publish, K.work(call, ' '), '' },
    { 'UNLINK', key },
  }

  local refused = {}
  for _, try in ipairs(tries) do
    local reply = redis.pcall(unpack(try))
    local fault = type(reply) == 'table' and reply.err or ''
    -- On servers that do not refuse calls as a whole.
    if string.find(fault, 'MISCONF') or string.find(fault, 'NOREPLICAS') or string.find(fault, 'READONLY') then
      return reply
    end
    -- The wording of Redis 7.0 and later.
    if string.find(fault, 'NOPERM') or string.find(fault, 'executing the script') or string.find(fault, 'ACL failure') then
      refused[#refused + 1] = { command = try[1], said = fault }
    end
  end
  return refused
end)
