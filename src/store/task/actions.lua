-- The actions on a task: which of them its state allows, decided here both for the verbs that act and for those that show the task; and
-- these verbs: they cancel it, move it, run it again. Its input is replaced and submitted again by submit.lua.
local Actions = {}

local CLASS, whole = C.classSpan, Number.whole

-- Whether its input may be replaced. Not once a worker has had the task (it has a run): work for the old input must not count for the new.
function Actions.can_replace(state, run)
  return (state == S.waiting or state == S.scheduled) and not run
end

-- Whether it may get another priority, place or time.
function Actions.can_move(state)
  return state == S.waiting or state == S.scheduled
end

-- How the task can be ended: "cancel" if it has not ended, "delete" if it has, nil if nothing is left to do.
function Actions.ending(call, state, deleted, expires)
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
function Actions.refusal_of_retry(call, id, key, queue, state, run)
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
    if Actions.can_replace(state, run) then return 'cancel,replace,move' end
    if Actions.can_move(state) then return 'cancel,move' end
    return cancel and '' or ending
  end
  if state ~= S.failed or Actions.refusal_of_retry(call, id, key, queue, state, run) then return ending or '' end
  return ending and ending .. ',retry' or 'retry'
end

-- All allowed actions, separated by commas. Not "cancel" if a cancel is already requested.
function Actions.list(call, id, key, queue, state, run, cancel, deleted, expires)
  local ending = Actions.ending(call, state, deleted, expires)
  local list = changes(call, id, key, queue, state, run, cancel, ending)
  if not is_repeatable(call, id, key, ending, deleted, expires) then return list end
  return list == '' and 'again' or list .. ',again'
end

local function delete_task(call, queue, id, key, state, undo)
  redis.call('ZREM', K.dead(call, queue), id)
  -- The work of a failed task was undone when it failed.
  if undo and state == S.succeeded then Follow.undo_work(call, id) end
  Settle.delete(call, id, key)
end

local function cancel(call, key, item)
  local id, only, listener = item.id, item.only, item.onlyListener
  local state, queue, deleted, expires, undo, listeners =
    unpack(redis.call('HMGET', key, F.state, F.queue, F.deleted, F.expires, F.undo, F.listeners))
  if not state then return 'unknown' end
  local ending = Actions.ending(call, state, deleted, expires)
  if (only == 'pending' and ending ~= 'cancel') or (only == 'ended' and ending == 'cancel') then return 'left' end
  if listener and listeners and string.gsub(listeners, '^%.', '') ~= listener then return 'left' end
  if not ending then return 'already' end

  if ending == 'cancel' then
    return Settle.cancel(call, id, state, queue, C.cancelByCaller, Result.retention(call, item.keepMs, item.tombstoneMs)), true
  end
  delete_task(call, queue, id, key, state, undo)
  return 'deleted', true
end

local function cancel_all(call, items)
  local verdicts = Call.each_once(call, A.cancel, items, cancel)
  Settle.close(call)
  return verdicts
end

-- Cancels tasks; deletes the result of one that has ended. Returns a verdict of each: "canceled" (it has left the line), "requested" (it is
-- running: its worker is notified), "deleted", "already" (canceled, expired or deleted by another call), "left" (alone), "unknown".
register('cancel', { 'allow-oom' }, function(call, asked)
  return cancel_all(call, asked.items)
end)

-- The same, and reads the tasks: a handler that settles at once would otherwise end one in between. Returns the verdicts, and beside them
-- the answer of `inspect`.
register('cancelAndInspect', { 'allow-oom' }, function(call, asked)
  local verdicts, seen, tasks = cancel_all(call, asked.items), Inspect.new(), {}
  for n, item in ipairs(asked.items) do tasks[n] = Inspect.task(call, seen, item.id, false) end
  return verdicts, Inspect.answer(call, seen, tasks)
end)

-- Another priority: it keeps its arrival, in a fair line it goes to the end of its line key.
local function to_class(call, queue, id, share, of_key, class)
  local line, key = K.waiting(call, queue), K.task(call, id)
  local score = tonumber(redis.call('ZSCORE', line, id))
  redis.call('ZREM', line, id)
  local is_shared = share and Fair.is_fair(score)
  -- It refunds the class that the record names.
  if is_shared then Fair.leave(call, queue, id) end
  redis.call('HSET', key, F.priority, class)
  Line.put(call, queue, id, class, score % CLASS, is_shared and share)
  Keyed.decide(call, queue, id, of_key)
end

-- The start of the line: in a class before all others, so also before more urgent tasks that come later. It keeps its arrival, the time
-- since which it has been waiting.
local function to_start(call, queue, id)
  local line = K.waiting(call, queue)
  local own, first = tonumber(redis.call('ZSCORE', line, id)), tonumber(redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2])
  local least = math.min(first, 0)
  if own ~= least then redis.call('ZADD', line, whole((math.floor(least / CLASS) - 1) * CLASS + own % CLASS), id) end
end

-- The end of the line: in the class of the last task, as if it arrived now.
local function to_end(call, queue, id)
  local line = K.waiting(call, queue)
  local last = tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2])
  local class = math.floor(last / CLASS)
  Line.put(call, queue, id, class, Line.next_arrival(call, queue))
end

-- Another time: it leaves the line until then.
local function to_time(call, queue, id, state, of_key, priority, delay)
  if state == S.waiting then
    redis.call('ZREM', K.waiting(call, queue), id)
    redis.call('HSET', K.task(call, id), F.state, S.scheduled, F.place, whole((priority or C.defaultPriority) * CLASS), F.extra, '1')
  end
  redis.call('ZADD', K.scheduled(call, queue), whole(call.now + delay), id)
  Keyed.put(call, queue, id, of_key, Keyed.due_later(call.now + delay))
end

local function move(call, key, asked)
  local id, class, place, not_before = asked.id, asked.priority, asked.place, asked.notBeforeMs
  local delay = not_before and math.max(0, not_before - call.now) or asked.delayMs
  local state, queue, share, of_key, priority, noted, deadline, group =
    unpack(redis.call('HMGET', key, F.state, F.queue, F.share, F.key, F.priority, F.place, F.deadline, F.group))
  if not state then return 'unknown' end
  local is_waiting, has_order = state == S.waiting, share or Keyed.limit(call, queue)
  if not Actions.can_move(state) or (place and not is_waiting) then return 'not-waiting' end
  if is_waiting and has_order and not class then return 'ordered' end
  if delay and delay > C.longestDelayMs then return 'far' end
  if delay and deadline and call.now + delay >= tonumber(deadline) then return 'late' end
  if class and is_waiting then
    to_class(call, queue, id, share, of_key, class)
  elseif class then
    -- The fraction says that the task will join a fair line.
    local fraction = string.match(noted or '', '%.5$') or ''
    redis.call('HSET', key, F.priority, class, F.place, whole(class * CLASS) .. fraction)
  elseif delay then
    if delay > 0 or not is_waiting then to_time(call, queue, id, state, of_key, priority, delay) end
  else
    local to = place == 'first' and to_start or to_end
    to(call, queue, id)
  end
  redis.call('HSET', key, F.extra, '1')
  if group then Group.note(call, group, id) end
  Notices.change(call, id, redis.call('HGET', key, F.state))
  -- Others of its line key may start, or it may itself.
  Total.note(call, queue)
  return 'moved', true
end

-- Moves a task that waits: to another priority, to the start or the end of its line, or to another time. Returns "moved", "not-waiting" (it
-- has begun or ended, or should get a place but is not in line), "ordered" (its line has an order of its own: it is fair, keyed or has a
-- limit), "late" (its deadline would pass before), "far" (later than any task may be scheduled for), or "unknown".
register('move', {}, function(call, asked)
  local verdict = Call.once(call, K.task(call, asked.id), F.answers, A.move, move, asked)
  Settle.close(call)
  return verdict
end)

local function take_back(call, id, undo)
  redis.call('ZREM', K.waiting(call, Call.own_queue(call, C.undoQueue)), undo)
  redis.call('UNLINK', K.task(call, undo), K.input(call, undo))
  if redis.call('EXISTS', K.steps(call, undo)) == 1 then redis.call('RENAME', K.steps(call, undo), K.steps(call, id)) end
end

-- The attempt that ended the task becomes one of its past attempts.
local function note_end(call, id, key, run)
  local ended, errors = redis.call('HGET', key, F.ended), redis.call('HGET', K.attempts(call, id), T.errors)
  local readable, texts = pcall(cjson.decode, errors or '[]')
  Attempt.note_past(call, id, run, 'dead', readable and type(texts) == 'table' and texts[1] or nil, ended or nil)
  Attempt.add_past(call, id, '0 ' .. call.now_text .. ' ' .. call.now_text .. ' retried - ')
end

-- Removes the fields of the record that only ended tasks have.
local function revive(call, id, key)
  redis.call('HDEL', key, F.lost, F.uncountedLosses, F.ended, F.expires, F.errorCode, F.deadline, F.presenceMs, F.holds)
  redis.call('HSET', key, F.state, S.waiting)
  redis.call('PERSIST', key)
  redis.call('PERSIST', K.input(call, id))
  redis.call('PERSIST', K.steps(call, id))
  redis.call('PERSIST', K.attempts(call, id))
  redis.call('HDEL', K.attempts(call, id), T.errors)
  -- If its output has expired with its result, it no longer counts towards the limit.
  if redis.call('PERSIST', K.output(call, id)) == 0 then redis.call('HDEL', key, F.output) end
  redis.call('HINCRBY', key, F.restarts, 1)
  Result.drop(call, id, key)
end

-- woken: the queues whose workers must be notified, and how many tasks join each.
local function retry(call, key, item, woken)
  local id = item.id
  local queue, state, priority, run, share, of_key, group =
    unpack(redis.call('HMGET', key, F.queue, F.state, F.priority, F.run, F.share, F.key, F.group))
  if not state then return 'unknown' end
  local refusal, undo = Actions.refusal_of_retry(call, id, key, queue, state, run)
  if refusal then return refusal end

  note_end(call, id, key, run)
  -- A worker has had the task (it has a run): a cancel must undo its work, so its input is kept.
  if undo then
    take_back(call, id, undo)
    redis.call('HSET', key, F.run, Run.handed_back((Run.parts(run)), 0))
  else
    redis.call('HDEL', key, F.run)
  end
  revive(call, id, key)
  redis.call('ZREM', K.dead(call, queue), id)
  Line.join(call, queue, id, tonumber(priority or C.defaultPriority), Line.next_arrival(call, queue), share, of_key)
  if group then Group.note(call, group, id) end
  Notices.change(call, id, S.waiting)
  woken[queue] = (woken[queue] or 0) + 1
  return 'waiting', true
end

-- Runs dead tasks again: each goes to the end of its class (in a fair or keyed line also of its key), with all its attempts and without its
-- deadline and presence. The task that would undo its work is removed if it has not begun: the steps return to the task, which goes on
-- after them. Returns a verdict of each: "waiting", "unknown", or why it cannot be run again: see Actions.refusal_of_retry.
register('retry', {}, function(call, asked)
  local woken = {}
  local verdicts = Call.each_once(call, A.retry, asked.items, retry, woken)
  Keyed.write(call)
  for queue, joined in pairs(woken) do
    Worker.note_need(call, queue, joined)
    Notices.work(call, queue)
  end
  Notices.send(call)
  return verdicts
end)

local function delete_some(call, _, asked)
  local dead = redis.call('ZPOPMIN', K.dead(call, asked.queue), asked.limit)
  for n = 1, #dead, 2 do Settle.delete(call, dead[n], K.task(call, dead[n])) end
  return #dead / 2, #dead > 0
end

-- Deletes dead tasks with all they hold, the oldest first. Returns how many were deleted; as many as the limit if there may be more.
register('deleteDead', { 'allow-oom' }, function(call, asked)
  local deleted = Call.once(call, K.queue(call, asked.queue), Q.answers, A.deleteDead, delete_some, asked)
  Notices.send(call)
  return tonumber(deleted)
end)

return Actions
