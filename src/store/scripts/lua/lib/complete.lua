-- Finishes tasks with their results. Needs clock, run, keyed, rate, follow, notify, finished, settle and service.
--   args  ARGV, in which from `at` on stand the process that completes them (see complete.lua) and the number of groups; of each its queue, keep (ms), tombstone (ms) and number of tasks;
--         and of each of these id, fence and result (its stored form)
-- Returns a verdict of each, in one string with a space between: see complete.lua.
local function complete_groups(args, at)
  local verdicts, ended, times, succeeded = {}, {}, {}, {}
  local teller = args[at]
  at = at + 1

  local function complete(queue, id, fence, result, keep, tombstone)
    local key = K.task(id)
    local t = redis.call('HMGET', key, F.state, F.run, F.extra, F.listeners)
    local state, run = t[1], t[2] or ''
    if not state then return 'unknown' end
    -- Nearly always the handler began when the fence was given out, and the rest need not be read.
    local begun = string.sub(run, 1, #fence + 3) == fence .. ' 0 ' and time_of_fence(fence)
    if not begun then
      local held_under, late = run_of(run)
      if held_under ~= fence then return 'stale' end
      begun = begun_of(fence, late)
    end
    -- The same fence, and running no more: finished before, or handed back by a release or a reclaim.
    if state ~= S.running then return (state == S.succeeded or state == S.failed or state == S.canceled) and 'already' or 'stale' end
    local ids = ended[queue]
    ids[#ids + 1] = id
    local attempts
    if t[3] then
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
    local of_queue, time = times[queue], now - (begun or now)
    -- The clock may have been set back meanwhile.
    of_queue[#of_queue + 1] = time > 0 and time or 0
    local outcomes = succeeded[queue]
    outcomes[#outcomes + 1] = now_text .. ' ' .. id
    return attempts and 'done:' .. attempts .. ':' .. now_text or 'done'
  end

  for _ = 1, tonumber(args[at]) do
    local queue, keep, tombstone, count = args[at + 1], tonumber(args[at + 2]), tonumber(args[at + 3]), tonumber(args[at + 4])
    at = at + 4
    ended[queue], times[queue], succeeded[queue] = ended[queue] or {}, times[queue] or {}, succeeded[queue] or {}
    for _ = 1, count do
      verdicts[#verdicts + 1] = complete(queue, args[at + 1], args[at + 2], args[at + 3], keep, tombstone)
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
