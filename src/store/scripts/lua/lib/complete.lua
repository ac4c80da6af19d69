-- Ends a task with the stored form of its result. Its webhook is left to the caller.
--   undo  what it has done can be undone, when its result is destroyed: its input and steps stay as long
--   bare  it is known to have no progress, no input of its own key and no steps
--   listeners, teller, run  see lib/notify.lua, whose answer is returned
local function succeed(id, key, result, keep, tombstone, undo, bare, listeners, teller, run)
  local expires = mark_ended(id, key, S.succeeded, keep, tombstone, result)
  if not bare then redis.call('HDEL', key, F.progress) end
  if undo then
    redis.call('PEXPIRE', K.input(id), often(keep))
    redis.call('PEXPIRE', K.steps(id), often(keep))
  elseif not bare then
    drop_input(id, key)
    redis.call('UNLINK', K.steps(id))
  end
  return listeners and notify_end(id, S.succeeded, now_text, expires, result, listeners, teller, run)
end

-- Finishes tasks with their results. Needs clock, run, keyed, rate, follow, notify, finished, settle and service.
--   args  ARGV, in which from `at` on stand the process that completes them (see complete.lua) and the number of groups; of each its queue, keep (ms), tombstone (ms) and number of tasks;
--         and of each of these id, fence and result (its stored form)
-- Returns a verdict of each, in one string with a space between: see complete.lua.
local find = string.find
local function complete_groups(args, at)
  -- Of each queue the ids that have ended, the service times of those that succeeded, and their entries for note_finished.
  local ended, times, succeeded = {}, {}, {}
  local teller = args[at]
  at = at + 1

  local function complete(queue, id, fence, result, keep, tombstone, ids, service_times, outcomes)
    local key = K.task(id)
    local t = redis.call('HMGET', key, F.state, F.run, F.extra, F.listeners)
    local state, run = t[1], t[2] or ''
    if not state then return 'unknown' end
    -- Nearly always the handler began when the fence was given out, and the rest need not be read.
    local begun
    if find(run, fence, 1, true) == 1 and find(run, ' 0 ', #fence + 1, true) == #fence + 1 then
      begun = time_of_fence(fence)
    else
      local held_under, late = run_of(run)
      if held_under ~= fence then return 'stale' end
      begun = begun_of(fence, late)
    end
    -- The same fence, and running no more: finished before, or handed back by a release or a reclaim.
    if state ~= S.running then return (state == S.succeeded or state == S.failed or state == S.canceled) and 'already' or 'stale' end
    ids[#ids + 1] = id
    local attempts
    if t[3] and t[3] ~= '1' then
      -- Nothing of it is rare but its key.
      attempts = succeed(id, key, result, keep, tombstone, nil, true, t[4], teller, run)
      free_key(queue, id, t[3])
    elseif t[3] then
      local extra = redis.call('HMGET', key, F.cancel, F.webhook, F.undo, F.digest, F.stepBytes, F.progress, F.output, F.deadline, F.key)
      if extra[1] then
        settle(id, S.canceled, keep, tombstone)
        return 'canceled'
      end
      attempts = succeed(id, key, result, keep, tombstone, extra[3], not (extra[4] or extra[5] or extra[6]), t[4], teller, run)
      if extra[7] then redis.call('PEXPIRE', K.output(id), often(keep)) end
      if extra[8] then redis.call('ZREM', K.deadlines(queue), id) end
      if extra[9] then free_key(queue, id, extra[9]) end
      if extra[2] then tell_webhook(id, S.succeeded, extra[2]) end
    else
      attempts = succeed(id, key, result, keep, tombstone, nil, true, t[4], teller, run)
    end
    local time, nth = now - (begun or now), #outcomes + 1
    -- The clock may have been set back meanwhile.
    service_times[nth] = time > 0 and time or 0
    outcomes[nth] = now_text .. ' ' .. id
    return attempts and 'done:' .. attempts .. ':' .. now_text or 'done'
  end

  local verdicts, nth = {}, 0
  for _ = 1, tonumber(args[at]) do
    local queue, keep, tombstone, count = args[at + 1], tonumber(args[at + 2]), tonumber(args[at + 3]), tonumber(args[at + 4])
    at = at + 4
    local ids, service_times, outcomes = ended[queue] or {}, times[queue] or {}, succeeded[queue] or {}
    ended[queue], times[queue], succeeded[queue] = ids, service_times, outcomes
    for _ = 1, count do
      nth = nth + 1
      verdicts[nth] = complete(queue, args[at + 1], args[at + 2], args[at + 3], keep, tombstone, ids, service_times, outcomes)
      at = at + 3
    end
  end

  for queue, ids in pairs(ended) do
    if #ids > 0 then
      redis.call('ZREM', K.leases(queue), unpack(ids))
      count_rate(queue, R.finished, #ids)
    end
    if #times[queue] > 0 then
      note_service(queue, times[queue])
      note_finished(queue, succeeded[queue])
    end
  end
  return table.concat(verdicts, ' ')
end
