-- What the state of a task allows, whoever asks: decided here for the verbs that do it and for those who look at the task before.
local Allowed = {}

-- Whether its input may be replaced. A run says that a worker has had it: what that has done for the old input must not be taken for
-- done for the new one.
function Allowed.replace(state, run)
  return (state == S.waiting or state == S.scheduled) and not run
end

-- What ends it: "cancel" where it has not ended, "delete" where it has, nil where nothing is left to be done.
function Allowed.ending(call, state, destroyed, expires)
  if state == S.running or state == S.waiting or state == S.scheduled or state == S.retrying then return 'cancel' end
  if state == S.canceled or destroyed then return nil end
  return (tonumber(expires) or call.now + 1) > call.now and 'delete' or nil
end

-- The task that undoes the work of another, where no worker has had it.
local function waiting_undo(call, id, queue, called, run)
  local undo = Follow.undo_id(id, queue, called, (Run.parts(run)))
  local state, undo_run = unpack(redis.call('HMGET', K.task(call, undo), F.state, F.run))
  return state == S.waiting and not undo_run and undo
end

-- Why a task cannot be run again: "not-dead" (in any other state, or its input is gone), "undone" (its work has been undone, or is just
-- being undone). If it can: nil, and the task that was to undo its work, where there is one.
function Allowed.refusal_of_retry(call, id, key, queue, state, run)
  if state ~= S.failed or not redis.call('ZSCORE', K.dead(call, queue), id) then return 'not-dead' end
  local digest, undoing = unpack(redis.call('HMGET', key, F.digest, F.undoing))
  if digest and not Input.exists(call, id, key) then return 'not-dead' end
  local undo = undoing and waiting_undo(call, id, queue, undoing, run)
  if undoing and not undo then return 'undone' end
  return nil, undo
end

-- All that is allowed, with commas between. Of a cancel that is requested already, nothing would change.
function Allowed.list(call, id, key, queue, state, run, cancel, destroyed, expires)
  local ending = Allowed.ending(call, state, destroyed, expires)
  if ending == 'cancel' then
    if Allowed.replace(state, run) then return 'cancel,replace' end
    return cancel and '' or ending
  end
  if state ~= S.failed or Allowed.refusal_of_retry(call, id, key, queue, state, run) then return ending or '' end
  return ending and ending .. ',retry' or 'retry'
end

return Allowed
