-- Facts that the processes of a deployment share, in partition 0. Tiny, and needed to drain, so it is written even at the memory limit.

-- How many names of libraries are remembered.
local MAX_LIBRARIES = 10

-- Writes what the processes of a deployment have to agree on, unless it is there. Where the data is of another version, nothing is written.
-- Returns what is stored: of this process, or of the first one.
register('claim', { 'allow-oom' }, function(keys, args)
  local call, ARGS, CLAIM, answer = Call.untimed(keys), Layout.claim.args, Layout.claim.answer, {}
  local stored = redis.call('GET', K.version(call))
  if not stored or stored == args[ARGS.version] then
    redis.call('SET', K.version(call), args[ARGS.version])
    redis.call('SET', K.release(call), args[ARGS.release])
    redis.call('SET', K.partitions(call), args[ARGS.partitions], 'NX')
    redis.call('SET', K.secret(call), args[ARGS.secret], 'NX')
  end
  answer[CLAIM.version] = redis.call('GET', K.version(call))
  answer[CLAIM.release] = redis.call('GET', K.release(call)) or ''
  answer[CLAIM.partitions] = redis.call('GET', K.partitions(call)) or ''
  answer[CLAIM.secret] = redis.call('GET', K.secret(call)) or ''
  return answer
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
