-- Finishes tasks with their results. Needs clock, run, keyed, rate, notify, result, finished, extra and service.
local find = string.find

-- Ends one task. Returns its verdict: see complete.lua.
--   of      {queue, ids, times, outcomes, canceled}: of those of a queue that have ended the ids; of those that succeeded the service
--           times, and their entries for note_finished; how many were canceled, nil for none
--   teller  see lib/notify.lua
local function complete_one(of, id, fence, result, keep, tombstone, teller)
  local key = K.task(id)
  local t = redis.call('HMGET', key, F.state, F.run, F.extra, F.listeners)
  local state, run, extra, listeners = t[1], t[2] or '', t[3], t[4]
  if not state then return 'unknown' end
  -- Nearly always the handler began when the fence was given out: the rest need not be read.
  local begun, length = nil, #fence
  if find(run, fence, 1, true) == 1 and find(run, ' 0 ', length + 1, true) == length + 1 then
    begun = time_of_fence(fence)
  else
    local held_under, late = run_of(run)
    if held_under ~= fence then return 'stale' end
    begun = begun_of(fence, late) or now
  end
  -- The same fence, and running no more: finished before, or handed back by a release or a reclaim.
  if state ~= S.running then return (state == S.succeeded or state == S.failed or state == S.canceled) and 'already' or 'stale' end
  local ids, times = of.ids, of.times
  ids[#ids + 1] = id
  local expires
  if extra == '1' then
    expires = complete_extra(of.queue, id, key, result, keep, tombstone)
    if not expires then
      of.canceled = (of.canceled or 0) + 1
      return 'canceled'
    end
  else
    expires = mark_ended(id, key, S.succeeded, keep, tombstone, result)
    -- Nothing of it is rare but its key.
    if extra then free_key(of.queue, id, extra) end
  end
  local time, nth = now - begun, #times + 1
  -- The clock may have been set back meanwhile.
  times[nth] = time > 0 and time or 0
  of.outcomes[nth] = now_text .. ' ' .. id
  local told = listeners and notify_end(id, S.succeeded, now_text, expires, result, listeners, teller, run)
  return told and 'done:' .. told .. ':' .. now_text or 'done'
end

--   args   ARGV, in which from `at` on stand the process that completes them (see complete.lua) and the number of groups; of each its
--          queue, keep (ms), tombstone (ms) and number of tasks; and of each of these id, fence and result (its stored form)
--   asked  nil, or the queue whose hash the caller goes on with, and the field of a reservation: see note_ends
-- Returns a verdict of each, in one string with a space between: see complete.lua. Where tasks of the queue asked for have ended also
-- what note_ends returns, and the caller writes it; of all others it is written here.
local function complete_groups(args, at, asked, lane)
  local teller, groups = args[at], args[at + 1]
  if groups == '0' then return '' end
  at = at + 1
  local verdicts, nth, queues, of = { nil }, 0, {}, nil
  for _ = 1, tonumber(groups) do
    local queue, keep, tombstone, count = args[at + 1], args[at + 2], args[at + 3], tonumber(args[at + 4])
    at = at + 4
    of = queues[queue]
    if not of then
      -- With room for the only task of most calls.
      of = { queue = queue, ids = { nil }, times = { nil }, outcomes = { nil } }
      queues[queue] = of
    end
    for _ = 1, count do
      nth = nth + 1
      verdicts[nth] = complete_one(of, args[at + 1], args[at + 2], args[at + 3], keep, tombstone, teller)
      at = at + 3
    end
  end

  local read, to_write
  for queue, done in pairs(queues) do
    local ended = #done.ids
    if ended > 0 then
      redis.call('ZREM', K.leases(queue), unpack(done.ids))
      if done.canceled then
        ended = ended - done.canceled
        count_rate(queue, R.returned, done.canceled)
      end
      if queue == asked then
        read, to_write = note_ends(queue, ended, done.times, lane)
      else
        local _, writes = note_ends(queue, ended, done.times)
        redis.call('HSET', K.queue(queue), unpack(writes))
      end
      if #done.outcomes > 0 then note_finished(queue, done.outcomes) end
    end
  end
  return table.concat(verdicts, ' '), read, to_write
end
