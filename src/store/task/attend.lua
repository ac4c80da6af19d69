-- Keeps tasks that somebody has looked at: from now on, each may go without another look for as long as its presence.

local ARGS, GROUP = Layout.attend.args, Layout.attend.group

-- Enters a task again whose entry was lost.
local function enter(call, queue, id)
  local group = Due.group_of(id)
  if group then return Group.attend(call, group) end
  local state, cancel, deadline, presence =
    unpack(redis.call('HMGET', K.task(call, id), F.state, F.cancel, F.deadline, F.presenceMs))
  if not state then return 'unknown' end
  if cancel or not presence or Allowed.ending(call, state) ~= 'cancel' then return 'gone' end
  Due.enter(call, queue, id, deadline, presence)
  return 'kept'
end

-- Moves the entries of tasks of a queue, all to the same time. A task with an entry has not ended, so no record has to be read.
local function keep(call, queue, at, ids, verdicts)
  local index, moved = K.deadlines(call, queue), {}
  local entries, before = redis.call('ZMSCORE', index, unpack(ids)), #verdicts
  for n = 1, #ids do
    local id, last = ids[n], #moved
    if entries[n] then
      moved[last + 1], moved[last + 2] = at, id
      verdicts[before + n] = 'kept'
    else
      verdicts[before + n] = enter(call, queue, id)
    end
  end
  if #moved > 0 then redis.call('ZADD', index, 'XX', unpack(moved)) end
end

-- Returns a verdict of each, in one string with a space between: "kept", "gone" if it has ended, is being canceled or has no presence,
-- "unknown".
register_hot('attend', { 'allow-oom' }, function(keys, args)
  local call, verdicts, at = Call.new(keys), {}, ARGS.groups
  for _ = 1, tonumber(args[ARGS.groups]) do
    local ends, deadline = call.now + tonumber(args[at + GROUP.presenceMs]), tonumber(args[at + GROUP.deadlineMs])
    local queue, first = args[at + GROUP.queue], at + GROUP.width + 1
    at = at + GROUP.width + tonumber(args[at + GROUP.tasks])
    local ids = { unpack(args, first, at) }
    keep(call, queue, Number.whole(deadline and deadline < ends and deadline or ends), ids, verdicts)
  end
  return table.concat(verdicts, ' ')
end)
