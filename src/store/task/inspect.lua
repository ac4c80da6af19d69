-- Reads tasks: the state of each, its place in line and the line itself, all as of the same instant.

local ITEM = Layout.inspect.item

local function inspect_one(call, args, at, seen)
  return Inspection.task(call, seen, args[at + ITEM.id], args[at + ITEM.result] == '1')
end

local function inspect(call, args, layout)
  local seen = Inspection.new()
  return Inspection.answer(call, seen, Call.each_by_place(call, args, layout, inspect_one, seen))
end

-- Returns a snapshot of each queue, and for each task the answer of inspection.lua.
register_hot('inspect', { 'no-writes' }, function(keys, args)
  return inspect(Call.new(keys), args, Layout.inspect)
end)

-- The same, and adds a process to the listeners in their records, so that it gets notices from now on. Returns the same.
register_hot('watch', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.watch.args
  for n = 0, tonumber(args[ARGS.count]) - 1 do
    local key = K.task(call, args[ARGS.count + n * ITEM.width + ITEM.id])
    if redis.call('HEXISTS', key, F.state) == 1 then Notices.listen(key, args[ARGS.process]) end
  end
  return inspect(call, args, Layout.watch)
end)

local function lifetime(call, id)
  local group = string.match(id, '^(.*):group$')
  return redis.call('PTTL', group and K.group(call, group) or K.task(call, id))
end

-- Returns for each task, or group (":group" follows its id), the ms until its record expires, as Redis says it: -1 until it has ended, -2 if
-- there is none.
register('lifetimes', { 'no-writes' }, function(call, asked)
  return Call.each(call, asked.items, lifetime)
end)
