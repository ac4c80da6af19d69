-- Finishes tasks with their results: for `complete`, and for `reserve` in the same call that takes the next ones.
local Complete = {}

local ARGS, GROUP, TASK = Layout.complete.args, Layout.complete.group, Layout.complete.task
local ID, FENCE, SERVICE, RESULT, WIDTH = TASK.id, TASK.fence, TASK.serviceMs, TASK.result, TASK.width
-- Each use of a name in a table is a look-up, so names used for every task are locals, here and in other files.
local STATE, RUN, EXTRA, LISTENERS = F.state, F.run, F.extra, F.listeners
local RUNNING, SUCCEEDED = S.running, S.succeeded
local task_key, mark_ended, time_of_fence = K.task, Result.mark_ended, Run.time_of_fence

-- The window of the latest service times, for estimates:
--   Q.service  "samples total times": how many service times there were; of the latest C.window of them, their sum, and they themselves, ms,
--              the oldest first, with a space between. What has left the window is forgotten.
-- Of quick tasks only one in several joins a full window, so that this spans more than a moment and is not written at each end.
local WINDOW = C.window
-- With one slot, two times of a full window are at most this far apart; at least one in so many tasks is taken.
local APART_MS, LARGEST_STEP = 50, 64

-- One in how many tasks joins a full window with this sum: a power of two, so that it seldom changes, and the next is seldom far.
local function step_of(total)
  local step = 1
  while step < LARGEST_STEP and 2 * step * total <= APART_MS * WINDOW do step = 2 * step end
  return step
end

-- Adds the service times of tasks that have ended to a window; returns nil if none joins.
--   nth  the how-manieth end in its ten seconds the last of them was
local function with_times(service, times, nth)
  local samples, total, at = string.match(service or '0 0 ', '^(%d+) (%S+) ()')
  samples, total, service = tonumber(samples), tonumber(total), service or ''
  local step = samples < WINDOW and 1 or step_of(total)
  if step > #times and nth % step >= #times then return nil end
  -- The old times that stay are those from `at` on.
  local new = { nil }
  for n = 1, #times do
    if (nth - #times + n) % step == 0 then
      if samples >= WINDOW then
        local oldest, after = string.match(service, '^(%S+) ?()', at)
        if oldest then at = after else oldest = table.remove(new, 1) end
        total = total - oldest
      end
      local time = string.format('%.4g', times[n])
      new[#new + 1] = time
      total, samples = total + time, samples + step
      step = samples < WINDOW and 1 or step_of(total)
    end
  end
  local old = string.sub(service, at)
  return string.format('%d %.10g ', samples, total) .. old .. (old == '' and '' or ' ') .. table.concat(new, ' ')
end

-- Notes the ends of tasks of a queue in its hash, which is read and written once in a call, together with the other fields that the call
-- needs.
--   ended  how many tasks
--   times  the service times of those that succeeded
--   lane   nil, or the field of a reservation or of a quiet worker, which is then read with the other fields that reserve.lua needs
-- Returns what was read, and the fields and values to write.
local function note_ends(call, queue, ended, times, lane)
  local key, rate = K.queue(call, queue), Rate.field(call, R.finished)
  local q, count, service
  if lane then
    q = redis.call('HMGET', key, Q.paused, Q.fence, Q.keyed, Q.rekey, Q.setRate, Q.total, Q.setTotal, lane, rate, Q.service)
    count, service = q[9], q[10]
  else
    q = redis.call('HMGET', key, rate, Q.service, Q.total, Q.setTotal)
    count, service = q[1], q[2]
    if q[3] or q[4] then Total.note(call, queue) end
  end
  local finished = Rate.added(call, count, ended)
  local writes = { rate, finished }
  local window = #times > 0 and with_times(service, times, finished)
  if window then writes[3], writes[4] = Q.service, window end
  return q, writes
end

-- Ends a task with rare fields. Returns false if its cancel was requested: the result is dropped, and the task is canceled.
local function complete_rare(call, queue, id, key, result, retention)
  local cancel, webhook, undo, digest, steps, progress, output, deadline, presence, of_key, group, drop, attempts = unpack(redis.call(
    'HMGET', key, F.cancel, F.webhook, F.undo, F.digest, F.stepBytes, F.progress, F.output, F.deadline, F.presenceMs, F.key,
    F.group, F.dropInput, F.attempts
  ))
  if cancel then
    Settle.finish(call, id, S.canceled, retention)
    return false
  end
  Result.mark_ended(call, id, key, S.succeeded, retention, result)
  if digest or steps or progress then
    redis.call('HDEL', key, F.progress)
    if drop and not undo then Input.drop(call, id, key) elseif digest then Input.keep(call, id, key, retention) end
    if undo then
      -- Its work can be undone when its result is deleted, so its steps are kept as long.
      redis.call('PEXPIRE', K.steps(call, id), retention.keep)
    else
      Settle.leave_steps(call, queue, id, retention)
    end
  end
  if output then redis.call('PEXPIRE', K.output(call, id), retention.keep) end
  if attempts then Attempt.leave(call, id, retention) end
  Deadlines.leave(call, queue, id, deadline, presence)
  if of_key then Keyed.free(call, queue, id, of_key) end
  if webhook then Follow.tell_webhook(call, id, S.succeeded, webhook) end
  if group then Group.note(call, group, id) end
  return true
end

-- Ends one task. Returns its verdict: see `complete` below.
--   ends    what has ended of its queue in this call: see Complete.tasks
--   retention  see Result.retention
--   service its service time, ms; '' if that is the time since it was taken, 'none' if it has none
--   process  see Notices.ended
local function complete_one(call, ends, id, fence, service, result, retention, process)
  local key = task_key(call, id)
  local state, run, extra, listeners = unpack(redis.call('HMGET', key, STATE, RUN, EXTRA, LISTENERS))
  if not state then return 'unknown' end
  -- Nearly always the handler began when the fence was issued, so the rest need not be read.
  local begun
  if run and (string.find(run, fence .. ' 0 ', 1, true) == 1 or string.find(run, fence .. ' +0 ', 1, true) == 1) then
    begun = time_of_fence(fence)
  else
    local held_under, late = Run.parts(run)
    if held_under ~= fence then return 'stale' end
    begun = Run.begun(fence, late) or call.now
  end
  -- The same fence, but no longer running: finished before, or handed back by a release or a reclaim.
  if state ~= RUNNING then return (state == SUCCEEDED or state == S.failed or state == S.canceled) and 'already' or 'stale' end

  local ids, times = ends.ids, ends.times
  ids[#ids + 1] = id
  if extra == '1' then
    if not complete_rare(call, ends.queue, id, key, result, retention) then
      ends.canceled = ends.canceled + 1
      return 'canceled'
    end
  else
    mark_ended(call, id, key, SUCCEEDED, retention, result)
    -- It has no rare field but its key.
    if extra then Keyed.free(call, ends.queue, id, extra) end
  end
  if service ~= 'none' then
    local time = tonumber(service) or call.now - begun
    -- The clock may have been set back in between.
    times[#times + 1] = time > 0 and time or 0
  end
  local outcomes = ends.outcomes
  outcomes[#outcomes + 1] = call.now_text .. ' ' .. id
  if not listeners then return 'done' end
  local attempts = Notices.ended(call, id, SUCCEEDED, call.now_text, retention.expires, result, listeners, process, run)
  return attempts and 'done:' .. attempts .. ':' .. call.now_text or 'done'
end

--   args   the arguments of the verb; those of `complete` come after `at`
--   asked  nil, or the queue whose hash the caller goes on with, and the field of a reservation: see note_ends
-- Returns a verdict of each, in one string with a space between: see `complete` below. Where tasks of the queue asked for have ended also
-- what note_ends returns, and the caller writes it, and how many have; of all others it is written here.
function Complete.tasks(call, args, at, asked, lane)
  local process, groups = args[at + ARGS.process], tonumber(args[at + ARGS.groups])
  if groups == 0 then return '' end
  at = at + ARGS.width
  local verdicts, nth, queues = {}, 0, {}
  for _ = 1, groups do
    local queue, tasks = args[at + GROUP.queue], tonumber(args[at + GROUP.tasks])
    local retention = Result.retention(call, args[at + GROUP.keepMs], args[at + GROUP.tombstoneMs])
    at = at + GROUP.width
    -- The ends of a queue: the ids; for successes the service times that count, and their entries for Settle.note_finished; and how many were
    -- canceled.
    local ends = queues[queue]
    if not ends then
      -- Preallocated for one task, since most calls have only one.
      ends = { queue = queue, ids = { nil }, times = { nil }, outcomes = { nil }, canceled = 0 }
      queues[queue] = ends
    end
    for _ = 1, tasks do
      nth = nth + 1
      verdicts[nth] = complete_one(call, ends, args[at + ID], args[at + FENCE], args[at + SERVICE], args[at + RESULT], retention, process)
      at = at + WIDTH
    end
  end

  local read, to_write, count
  for queue, ends in pairs(queues) do
    if #ends.ids > 0 then
      redis.call('ZREM', K.leases(call, queue), unpack(ends.ids))
      if ends.canceled > 0 then Rate.count(call, queue, R.returned, ends.canceled) end
      local finished = #ends.ids - ends.canceled
      if queue == asked then
        read, to_write = note_ends(call, queue, finished, ends.times, lane)
        count = #ends.ids
      else
        local _, writes = note_ends(call, queue, finished, ends.times)
        redis.call('HSET', K.queue(call, queue), unpack(writes))
      end
      if #ends.outcomes > 0 then Settle.note_finished(call, queue, ends.outcomes) end
    end
  end
  return table.concat(verdicts, ' '), read, to_write, count
end

-- The process is the name in records of the process that completes them, which notifies its own listeners itself. For each group of
-- consecutive tasks with the same queue and times, the shared values come first, then the tasks. Returns a verdict of each, in one string
-- with a space between: "done", or "done:attempts:ended" if the process has listeners, "canceled" (cancel was requested: the result is
-- dropped), "already" (finished before under this fence), "stale" (it no longer belongs to the worker), "unknown".
register_hot('complete', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local verdicts = Complete.tasks(call, args, 0)
  Settle.close(call)
  return verdicts
end)

return Complete
