-- Tasks that are canceled by time: those past their deadline, and those with a presence that nobody has looked at for that long. A task
-- has one entry in K.deadlines, at the earlier of the two times; a look moves it.
local Due = {}

local whole = Number.whole
-- The words for a cancel by time: for workers and callers, and as the error code of the task.
local REASONS = { [C.cancelByDeadline] = 'deadline', [C.cancelByAbsence] = 'abandoned' }
local CODES = { [C.cancelByDeadline] = C.deadlinePassed, [C.cancelByAbsence] = C.abandoned }

-- by: why it is canceled, see SHARED.cancelByCaller. Returns "deadline", "abandoned", or for a caller the other word.
function Due.reason(by, otherwise)
  return REASONS[by] or otherwise
end

-- The error code of a canceled task; nil if a caller canceled it.
function Due.code(by)
  return CODES[by]
end

-- Enters a task that has a deadline or presence, or moves its entry.
--   deadline  ms, nil or false for none; presence: after how long without a look it is canceled, the same
function Due.enter(call, queue, id, deadline, presence)
  local at = presence and call.now + tonumber(presence)
  if deadline and not (at and at < tonumber(deadline)) then at = tonumber(deadline) end
  redis.call('ZADD', K.deadlines(call, queue), whole(at), id)
end

-- The entry of a group that has a presence: all its members share it.
function Due.entry_of_group(group)
  return group .. ':group'
end

-- The group of an entry; nil for the entry of a task.
function Due.group_of(entry)
  return string.match(entry, '^(.*):group$')
end

-- After how long without a look that of an entry is canceled, ms; nil if not.
function Due.presence_of(call, entry)
  local group = Due.group_of(entry)
  if group then return tonumber(redis.call('HGET', K.group(call, group), G.presenceMs) or nil) end
  return tonumber(redis.call('HGET', K.task(call, entry), F.presenceMs) or nil)
end

-- Removes a task that has ended.
function Due.leave(call, queue, id, deadline, presence)
  if deadline or presence then redis.call('ZREM', K.deadlines(call, queue), id) end
end

return Due
