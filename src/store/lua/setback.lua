-- When the clock is set back, everything due after a span of time would wait for as long as the clock was ahead. Ticks bring forward what
-- waits longer than it can have been told to: leases, tasks that wait for another attempt, presences, and groups that are open or being
-- canceled; and dead letters, which would otherwise be newer than later ones. A few in each call. Scheduled tasks and deadlines, which
-- callers have set by the clock, stay at their times.
--
-- Fields of K.ticked: 'back' is "from to by": what the clock said before and after, and by how much it was set back in all since the first
-- set-back that is remembered, ms. Each begins all indexes anew, since what the one before has not reached is late by both; entries that
-- it has reached do not wait too long any more, and stay. 'back <queue>' is "to by cursor…": the set-back that is handled, and the cursors
-- in the indexes of the queue, "-" at the end; 'groups back' is the same for groups. 'back ended' is until when leases had ended that were
-- returned before: those that ended after that, but before the clock was set back, are brought forward too.
local Setback = {}

local whole = Number.whole
-- The assumed lease of a queue whose lease is unknown, ms.
local UNKNOWN_LEASE_MS = 60000
-- How long a set-back is remembered, ms: by then everything has been handled.
local REMEMBER_MS = 3600000

-- Reads 'back' as {from, to, by, id}; nil if nothing is remembered.
function Setback.parse(call, text)
  local from, to, by = string.match(text or '', '^(%d+) (%d+) (%d+)$')
  if not from or call.now > to + REMEMBER_MS then return nil end
  return { from = tonumber(from), to = to, by = tonumber(by), id = to .. ' ' .. by }
end

-- The set-backs of the clock that are remembered, as one; nil if there is none to handle. grace: see Grace.note_tick.
function Setback.read(call, grace)
  local setback = Setback.parse(call, grace.back)
  if grace.back and not setback then redis.call('HDEL', K.ticked(call), 'back') end
  if setback then setback.since = math.min(setback.from, grace.back_ended or setback.from) end
  return setback
end

-- Goes through a part of an index.
--   span_of  how long an entry may wait at most, ms: 0 for what has happened; nil to leave it alone
--   note     called with each that is brought forward, and when it is due now; nil for nothing
-- Returns the cursor of the next part, and how many entries it had.
local function bring_forward(call, setback, index, cursor, count, span_of, note)
  local next_cursor, entries = unpack(redis.call('ZSCAN', index, cursor, 'COUNT', math.max(1, count)))
  for n = 1, #entries, 2 do
    local id, due = entries[n], tonumber(entries[n + 1])
    local span = span_of(id)
    -- What waits for a time up to `since` is from after the set-back.
    if span and due > call.now + span and (span == 0 or due > setback.since) then
      -- What has happened keeps its order.
      local sooner = math.max(due - setback.by, span > 0 and call.now + span or 0)
      if sooner < due then
        redis.call('ZADD', index, whole(sooner), id)
        if note then note(id, sooner) end
      end
    end
  end
  return next_cursor == '0' and '-' or next_cursor, #entries / 2
end

-- Brings forward entries of some indexes, each {key, span_of, note}, as many as the count or a few more. Returns how many it has examined,
-- and whether that was all.
local function pass(call, setback, field, indexes, count)
  local of, progress = string.match(redis.call('HGET', K.ticked(call), field) or '', '^(%d+ %d+)(.*)$')
  local cursors, seen, all = {}, 0, true
  if of == setback.id then
    for cursor in string.gmatch(progress, '%S+') do cursors[#cursors + 1] = cursor end
  end
  for n, index in ipairs(indexes) do
    local cursor = cursors[n] or '0'
    if cursor ~= '-' and seen < count then
      local more
      cursor, more = bring_forward(call, setback, index.key, cursor, count - seen, index.span_of, index.note)
      seen = seen + more
    end
    cursors[n], all = cursor, all and cursor == '-'
  end
  if seen > 0 or of ~= setback.id then
    redis.call('HSET', K.ticked(call), field, setback.id .. ' ' .. table.concat(cursors, ' '))
  end
  return seen, all
end

-- Brings forward entries of a queue: see `pass`.
function Setback.pass(call, setback, queue, count)
  local usual = tonumber(redis.call('HGET', K.ticked(call), 'lease ' .. queue) or UNKNOWN_LEASE_MS)
  -- It may have been renewed since.
  local function lease_of(id) return math.max(usual, tonumber(redis.call('HGET', K.task(call, id), F.lease) or 0)) end
  local function pause_of(id) return tonumber(redis.call('HGET', K.task(call, id), F.pause) or nil) end
  local function presence_of(entry) return Due.presence_of(call, entry) end
  local function note(id, due)
    local of_key, holds, group = unpack(redis.call('HMGET', K.task(call, id), F.key, F.holds, F.group))
    if of_key and not holds then Keyed.put(call, queue, id, of_key, Keyed.due_later(due)) end
    if group then Group.note(call, group, id) end
  end
  return pass(call, setback, 'back ' .. queue, {
    { key = K.leases(call, queue), span_of = lease_of },
    { key = K.scheduled(call, queue), span_of = pause_of, note = note },
    { key = K.deadlines(call, queue), span_of = presence_of },
    { key = K.dead(call, queue), span_of = function() return 0 end },
  }, count)
end

-- The same for groups: those that are open close in time, and those that are being canceled go on.
function Setback.pass_groups(call, setback, count)
  local function open_of(group)
    local canceled, open_ms = unpack(redis.call('HMGET', K.group(call, group), G.canceled, G.openMs))
    return canceled and 0 or tonumber(open_ms or 0)
  end
  return pass(call, setback, 'groups back', { { key = K.groups(call), span_of = open_of } }, count)
end

return Setback
