-- Looks at tasks: each one's state, its place in line and the line itself, all of the same instant.

-- Returns a snapshot of each queue, and of each task what look.lua finds.
register('inspect', { 'no-writes' }, function(keys, args)
  return Look.at(Call.new(keys), args, Layout.inspect)
end)

-- The same, and names a process in their records: it is told of what happens to them from now on. Returns the same.
register('watch', { 'allow-oom' }, function(keys, args)
  local call, ARGS, LOOK = Call.new(keys), Layout.watch.args, Layout.watch.item
  for n = 0, tonumber(args[ARGS.count]) - 1 do
    local key = K.task(call, args[ARGS.count + n * LOOK.width + LOOK.id])
    if redis.call('HEXISTS', key, F.state) == 1 then Notices.listen(key, args[ARGS.process]) end
  end
  return Look.at(call, args, Layout.watch)
end)

local function lifetime(call, args, at)
  return redis.call('PTTL', K.task(call, args[at + Layout.lifetimes.item.id]))
end

-- Returns of each task the ms until its record goes, as Redis says it: -1 as long as it has not ended, -2 if there is none.
register('lifetimes', { 'no-writes' }, function(keys, args)
  return Call.each(Call.untimed(keys), args, Layout.lifetimes, lifetime)
end)
