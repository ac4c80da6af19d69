-- When the clock is set back, what was to happen after a span of time would wait for as long as the clock was ahead. Ticks bring it
-- forward, some of it in each call: leases, and tasks that wait for another attempt. What callers have asked for at a time of the day
-- (scheduled tasks, deadlines) stays at that time. Needs clock and grace.
--
-- Fields of K.ticked: 'back' is "from to", what the clock said before and after, ms; and 'back <queue>' is "to leases scheduled": which
-- set-back has been looked at so far, and the cursors in both indexes, "-" at the end.
--
-- A lease may be so long where nobody says how long those of its queue are, ms.
local UNKNOWN_LEASE_MS = 60000
-- So long a set-back is remembered, ms: every queue has been looked at by then.
local REMEMBER_MS = 3600000

-- The last time that the clock was set back; nil if there is none to look at.
local set_from, set_to
local function read_setback()
  local from, to = string.match(back or '', '^(%d+) (%d+)$')
  if not from then return end
  if now > to + REMEMBER_MS then redis.call('HDEL', K.ticked, 'back') return end
  set_from, set_to = tonumber(from), to
end

-- Goes through a part of an index. Returns the cursor of the next part, and how many entries it had.
local function bring_forward(index, cursor, count, due_of)
  if cursor == '-' then return cursor, 0 end
  local next_cursor, entries = unpack(redis.call('ZSCAN', index, cursor, 'COUNT', math.max(1, count)))
  for n = 1, #entries, 2 do
    local due = tonumber(entries[n + 1])
    if due > set_from then
      local sooner = due_of(entries[n], due - (set_from - set_to))
      if sooner and sooner < due then redis.call('ZADD', index, whole(sooner), entries[n]) end
    end
  end
  return next_cursor == '0' and '-' or next_cursor, #entries / 2
end

-- Brings forward what a queue has, as many entries as the count or a few more. Returns how many it has looked at, and whether that was all.
local function pass_setback(queue, count)
  if not set_from then return 0, true end
  local progress = 'back ' .. queue
  local of, leases, scheduled = string.match(redis.call('HGET', K.ticked, progress) or '', '^(%d+) (%S+) (%S+)$')
  if of ~= set_to then leases, scheduled = '0', '0' end
  if leases == '-' and scheduled == '-' then return 0, true end
  local usual = tonumber(redis.call('HGET', K.ticked, 'lease ' .. queue) or UNKNOWN_LEASE_MS)
  local seen, more
  leases, seen = bring_forward(K.leases(queue), leases, count, function(id, due)
    -- It may have been renewed since.
    return math.max(due, now + math.max(usual, tonumber(redis.call('HGET', K.task(id), F.lease) or 0)))
  end)
  scheduled, more = bring_forward(K.scheduled(queue), scheduled, count - seen, function(id, due)
    return redis.call('HGET', K.task(id), F.state) == S.retrying and math.max(due, now)
  end)
  redis.call('HSET', K.ticked, progress, set_to .. ' ' .. leases .. ' ' .. scheduled)
  return seen + more, leases == '-' and scheduled == '-'
end
