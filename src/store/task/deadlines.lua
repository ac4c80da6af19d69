-- Tasks that are canceled by time: those past their deadline, and those with a presence that nobody has looked at for that long. A task
-- has one entry in K.deadlines, at the earlier of the two times; a look moves it.
local Deadlines = {}

local whole = Number.whole
-- The words for a cancel by time: for workers and callers, and as the error code of the task.
local REASONS = { [C.cancelByDeadline] = 'deadline', [C.cancelByAbsence] = 'abandoned' }
local CODES = { [C.cancelByDeadline] = C.deadlinePassed, [C.cancelByAbsence] = C.abandoned }

-- by: why it is canceled, see SHARED.cancelByCaller. Returns "deadline", "abandoned", or for a caller the other word.
function Deadlines.reason(by, otherwise)
  return REASONS[by] or otherwise
end

-- The error code of a canceled task; nil if a caller canceled it.
function Deadlines.code(by)
  return CODES[by]
end

-- Enters a task that has a deadline or presence, or moves its entry.
--   deadline  ms, nil or false for none; presence: after how long without a look it is canceled, the same
function Deadlines.enter(call, queue, id, deadline, presence)
  local at = presence and call.now + tonumber(presence)
  if deadline and not (at and at < tonumber(deadline)) then at = tonumber(deadline) end
  redis.call('ZADD', K.deadlines(call, queue), whole(at), id)
end

-- The entry of a group that has a presence: all its members share it.
function Deadlines.entry_of_group(group)
  return group .. ':group'
end

-- The group of an entry; nil for the entry of a task.
function Deadlines.group_of(entry)
  return string.match(entry, '^(.*):group$')
end

-- After how long without a look that of an entry is canceled, ms; nil if not.
function Deadlines.presence_of(call, entry)
  local group = Deadlines.group_of(entry)
  if group then return tonumber(redis.call('HGET', K.group(call, group), G.presenceMs) or nil) end
  return tonumber(redis.call('HGET', K.task(call, entry), F.presenceMs) or nil)
end

-- Removes a task that has ended.
function Deadlines.leave(call, queue, id, deadline, presence)
  if deadline or presence then redis.call('ZREM', K.deadlines(call, queue), id) end
end

local ARGS, GROUP = Layout.attend.args, Layout.attend.group

-- Enters a task again whose entry was lost.
local function enter(call, queue, id)
  local group = Deadlines.group_of(id)
  if group then return Group.attend(call, group) end
  local state, cancel, deadline, presence =
    unpack(redis.call('HMGET', K.task(call, id), F.state, F.cancel, F.deadline, F.presenceMs))
  if not state then return 'unknown' end
  if cancel or not presence or Actions.ending(call, state) ~= 'cancel' then return 'gone' end
  Deadlines.enter(call, queue, id, deadline, presence)
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

-- Keeps tasks that somebody has looked at: from now on, each may go without another look for as long as its presence. Returns a verdict of
-- each, in one string with a space between: "kept", "gone" if it has ended, is being canceled or has no presence,
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

return Deadlines
