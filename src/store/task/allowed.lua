-- Which actions the state of a task allows: decided here both for the verbs that act and for those that show the task.
local Allowed = {}

-- Whether its input may be replaced. Not once a worker has had the task (it has a run): work for the old input must not count for the new.
function Allowed.replace(state, run)
  return (state == S.waiting or state == S.scheduled) and not run
end

-- Whether it may get another priority, place or time.
function Allowed.move(state)
  return state == S.waiting or state == S.scheduled
end

-- How the task can be ended: "cancel" if it has not ended, "delete" if it has, nil if nothing is left to do.
function Allowed.ending(call, state, deleted, expires)
  if state == S.running or state == S.waiting or state == S.scheduled or state == S.retrying then return 'cancel' end
  if state == S.canceled or deleted then return nil end
  return (tonumber(expires) or call.now + 1) > call.now and 'delete' or nil
end

-- The task that undoes the work of another, if no worker has taken it yet.
local function waiting_undo(call, id, queue, called, run)
  local undo = Follow.undo_id(id, queue, called, (Run.parts(run)))
  local state, undo_run = unpack(redis.call('HMGET', K.task(call, undo), F.state, F.run))
  return state == S.waiting and not undo_run and undo
end

-- Why a task cannot be run again: "not-dead" (in any other state, or its input is gone), "undone" (its work has been or is being undone).
-- If it can: nil, and the task that would undo its work, if there is one.
function Allowed.refusal_of_retry(call, id, key, queue, state, run)
  if state ~= S.failed or not redis.call('ZSCORE', K.dead(call, queue), id) then return 'not-dead' end
  local digest, undoing = unpack(redis.call('HMGET', key, F.digest, F.undoing))
  if digest and not Input.exists(call, id, key) then return 'not-dead' end
  local undo = undoing and waiting_undo(call, id, queue, undoing, run)
  if undoing and not undo then return 'undone' end
  return nil, undo
end

-- Whether its input can be submitted again: a task that has ended keeps it as long as its result, if at all.
local function is_repeatable(call, id, key, ending, deleted, expires)
  if ending == 'cancel' then return true end
  if deleted or (tonumber(expires) or call.now + 1) <= call.now then return false end
  return redis.call('HEXISTS', key, F.digest) == 0 or Input.exists(call, id, key)
end

-- The actions that change the task itself.
local function changes(call, id, key, queue, state, run, cancel, ending)
  if ending == 'cancel' then
    if Allowed.replace(state, run) then return 'cancel,replace,move' end
    if Allowed.move(state) then return 'cancel,move' end
    return cancel and '' or ending
  end
  if state ~= S.failed or Allowed.refusal_of_retry(call, id, key, queue, state, run) then return ending or '' end
  return ending and ending .. ',retry' or 'retry'
end

-- All allowed actions, separated by commas. Not "cancel" if a cancel is already requested.
function Allowed.list(call, id, key, queue, state, run, cancel, deleted, expires)
  local ending = Allowed.ending(call, state, deleted, expires)
  local list = changes(call, id, key, queue, state, run, cancel, ending)
  if not is_repeatable(call, id, key, ending, deleted, expires) then return list end
  return list == '' and 'again' or list .. ',again'
end

return Allowed
