-- Reads tasks: the state of each, its place in line and the line itself, all as of the same instant.

-- Returns a snapshot of each queue, and for each task the answer of inspection.lua.
register('inspect', { 'no-writes' }, function(keys, args)
  return Inspection.of(Call.new(keys), args, Layout.inspect)
end)

-- The same, and adds a process to the listeners in their records, so that it gets notices from now on. Returns the same.
register('watch', { 'allow-oom' }, function(keys, args)
  local call, ARGS, ITEM = Call.new(keys), Layout.watch.args, Layout.watch.item
  for n = 0, tonumber(args[ARGS.count]) - 1 do
    local key = K.task(call, args[ARGS.count + n * ITEM.width + ITEM.id])
    if redis.call('HEXISTS', key, F.state) == 1 then Notices.listen(key, args[ARGS.process]) end
  end
  return Inspection.of(call, args, Layout.watch)
end)

local function lifetime(call, args, at)
  local id = args[at + Layout.lifetimes.item.id]
  local group = string.match(id, '^(.*):group$')
  return redis.call('PTTL', group and K.group(call, group) or K.task(call, id))
end

-- Returns for each task, or group (":group" follows its id), the ms until its record expires, as Redis says it: -1 until it has ended, -2 if
-- there is none.
register('lifetimes', { 'no-writes' }, function(keys, args)
  return Call.each(Call.untimed(keys), args, Layout.lifetimes, lifetime)
end)
