-- When the clock is set back, everything due after a span of time would wait for as long as the clock was ahead. Ticks bring leases, tasks
-- that wait for another attempt and presences forward, a few in each call. Scheduled tasks and deadlines, which callers have set by the
-- clock, stay at their times.
--
-- Fields of K.ticked: 'back' is "from to", what the clock said before and after, ms; and 'back <queue>' is "to leases scheduled
-- deadlines": the set-back handled so far, and the cursors in the indexes, "-" at the end. 'back ended' is until when leases had ended that
-- were returned before: those that ended after that, but before the clock was set back, are brought forward too.
local Setback = {}

local whole = Number.whole
-- The assumed lease of a queue whose lease is unknown, ms.
local UNKNOWN_LEASE_MS = 60000
-- How long a set-back is remembered, ms: by then every queue has been handled.
local REMEMBER_MS = 3600000

-- The last set-back of the clock, as {from, ended (ms), to (text)}; nil if there is none to handle. grace: see Grace.note_tick.
function Setback.read(call, grace)
  local from, to = string.match(grace.back or '', '^(%d+) (%d+)$')
  if not from then return nil end
  if call.now > to + REMEMBER_MS then
    redis.call('HDEL', K.ticked(call), 'back')
    return nil
  end
  from = tonumber(from)
  return { from = from, ended = math.min(from, grace.back_ended or from), to = to }
end

-- Goes through a part of an index.
--   since   entries up to this time are from after the set-back, or were handled before it
--   due_of  when a task is due at the earliest, nil to leave it alone
-- Returns the cursor of the next part, and how many entries it had.
local function bring_forward(call, setback, index, cursor, count, since, due_of)
  if cursor == '-' then return cursor, 0 end
  local next_cursor, entries = unpack(redis.call('ZSCAN', index, cursor, 'COUNT', math.max(1, count)))
  for n = 1, #entries, 2 do
    local id, due = entries[n], tonumber(entries[n + 1])
    local earliest = due > since and due_of(call, id)
    if earliest then
      local sooner = math.max(due - (setback.from - setback.to), earliest)
      if sooner < due then
        redis.call('ZADD', index, whole(sooner), id)
        local group = redis.call('HGET', K.task(call, id), F.group)
        if group then Group.note(call, group, id) end
      end
    end
  end
  return next_cursor == '0' and '-' or next_cursor, #entries / 2
end

local function due_retry(call, id)
  return redis.call('HGET', K.task(call, id), F.state) == S.retrying and call.now or nil
end

local function due_absent(call, id)
  local presence = redis.call('HGET', K.task(call, id), F.presenceMs)
  return presence and call.now + tonumber(presence) or nil
end

-- Brings forward entries of a queue, as many as the count or a few more. Returns how many it has examined, and whether that was all.
function Setback.pass(call, setback, queue, count)
  local ticked, progress = K.ticked(call), 'back ' .. queue
  -- An older release knows nothing of presences.
  local of, leases, scheduled, deadlines =
    string.match(redis.call('HGET', ticked, progress) or '', '^(%d+) (%S+) (%S+) ?(%S*)$')
  if of ~= setback.to then leases, scheduled, deadlines = '0', '0', '0' end
  if deadlines == '' then deadlines = '0' end
  if leases == '-' and scheduled == '-' and deadlines == '-' then return 0, true end
  local from, usual = setback.from, tonumber(redis.call('HGET', ticked, 'lease ' .. queue) or UNKNOWN_LEASE_MS)
  -- It may have been renewed since.
  local function due_lease(_, id)
    return call.now + math.max(usual, tonumber(redis.call('HGET', K.task(call, id), F.lease) or 0))
  end
  local seen, more, absent
  leases, seen = bring_forward(call, setback, K.leases(call, queue), leases, count, setback.ended, due_lease)
  scheduled, more = bring_forward(call, setback, K.scheduled(call, queue), scheduled, count - seen, from, due_retry)
  deadlines, absent = bring_forward(call, setback, K.deadlines(call, queue), deadlines, count - seen - more, from, due_absent)
  redis.call('HSET', ticked, progress, setback.to .. ' ' .. leases .. ' ' .. scheduled .. ' ' .. deadlines)
  return seen + more + absent, leases == '-' and scheduled == '-' and deadlines == '-'
end

return Setback
