-- Finishes tasks with their results. Needs clock, line, follow, settle and service.
--   args  ARGV, in which from `at` on stand the number of groups; of each its queue, keep (ms), tombstone (ms) and number of tasks;
--         and of each of these id, fence and result (its stored form)
-- Returns a verdict of each, in one string with a space between: see complete.lua.
local function complete_groups(args, at)
  local verdicts, ended, times = {}, {}, {}

  local function complete(queue, id, fence, result, keep, tombstone)
    local t = redis.call('HMGET', K.task(id), F.state, F.fence, F.cancel, F.begun, F.webhook, F.undo, F.digest, F.stepBytes, F.progress)
    if not t[1] then return 'unknown' end
    if t[2] ~= fence then return 'stale' end
    -- The same fence, and running no more: finished before, or handed back by a release or a reclaim.
    if t[1] ~= S.running then return (t[1] == S.succeeded or t[1] == S.failed or t[1] == S.canceled) and 'already' or 'stale' end
    local ids = ended[queue]
    ids[#ids + 1] = id
    if t[3] then
      settle(id, S.canceled, keep, tombstone)
      return 'canceled'
    end
    succeed(id, result, keep, tombstone, t[6], not (t[7] or t[8] or t[9]))
    if t[5] then tell_webhook(id, S.succeeded, t[5]) end
    local of_queue = times[queue]
    -- The clock may have been set back meanwhile.
    of_queue[#of_queue + 1] = math.max(0, now - tonumber(t[4]))
    return 'done'
  end

  for _ = 1, tonumber(args[at]) do
    local queue, keep, tombstone, count = args[at + 1], tonumber(args[at + 2]), tonumber(args[at + 3]), tonumber(args[at + 4])
    at = at + 4
    ended[queue], times[queue] = ended[queue] or {}, times[queue] or {}
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
    if #times[queue] > 0 then note_service(queue, times[queue]) end
  end
  return table.concat(verdicts, ' ')
end
