-- While no tick runs (the store stands still, or every process is away), no lease can be renewed either, so the leases that end in that
-- time say nothing about their workers. After such a gap they get a grace, so that renewals come first. A tick comes every second at the
-- latest, or after the planned pause of its process if nothing ran; a longer pause is a gap.
--
-- If the clock jumps forward, or the machine was suspended, leases end before their time although ticks go on. Each process compares
-- the clock with its own, which does not jump, and the leases that were held before a jump begin anew after it.
--
-- Nobody can look at a task in a gap or in a jump either: a presence that ends in it, or soon after, goes on for a while after it.
local Grace = {}

local whole = Number.whole
local GAP_MS, GRACE_MS = 1500, 2000
-- How much later than planned a tick may come, ms.
local LATE_MS = 500
-- If every tick is late, this many gaps in a row get a grace; after that, expired leases are lost.
local MAX_GRACES = 10
-- How often it is recorded at most that a tick ran, ms.
local NOTE_MS = 200
-- If the clock is set back by less, nothing has to be brought forward: see setback.lua.
local MIN_BACK_MS = 1000

-- Records that a tick runs.
--   expected  the earliest time that the clock can show, by that of the process; nil if it has not seen the clock before
--   from, to  a jump that the process has noticed since its last tick, ms; nil if none
--   paused    the pause that the process has planned since its last tick, ms; 0 for the usual one
-- Returns {ended_by, next, jumped_from, jumped_to, gap_from, gap_to, back, back_ended}: until when leases must have ended to count as lost
-- now, and when that changes; the times before and after the last jump forward of the clock, and of the last gap, nil if there was none, all
-- ms; and when it was last set back: see Setback.read.
function Grace.note_tick(call, expected, from, to, paused)
  local key, now = K.ticked(call), call.now
  if from then redis.call('HSET', key, 'from', whole(from), 'to', whole(to)) end
  local last_at, held, over, graces, jumped_from, jumped_to, gap_from, gap_to, back, ended, back_ended =
    unpack(redis.call(
      'HMGET', key, 'at', 'held', 'until', 'graces', 'from', 'to', 'gap from', 'gap to', 'back', 'ended', 'back ended'))
  local at = tonumber(last_at or now)
  held, graces = tonumber(held or 0), tonumber(graces or 0)
  -- If the clock was set back, a grace lasts no longer than a new one would.
  over = math.min(tonumber(over or 0), now + GRACE_MS)
  local gap = now - at
  local is_gap = gap > math.max(GAP_MS, paused + LATE_MS)
  if from then
    -- The gap is the same as this jump.
    over = 0
  elseif is_gap and graces < MAX_GRACES then
    -- A grace that the gap interrupted goes on for the same leases.
    if over <= at then held = at end
    over, graces, gap_from, gap_to = now + GRACE_MS, graces + 1, at, now
    redis.call('HSET', key, 'gap from', whole(at), 'gap to', call.now_text)
  elseif is_gap then
    over, graces = 0, 0
  elseif gap >= NOTE_MS then
    graces = 0
  end
  if gap <= -MIN_BACK_MS then
    local before = Setback.parse(call, back)
    back = whole(at) .. ' ' .. call.now_text .. ' ' .. whole(-gap + (before and before.by or 0))
    back_ended = ended or whole(at)
    redis.call('HSET', key, 'back', back, 'back ended', back_ended)
    -- Forgets earlier jumps and gaps, since their times come again.
    redis.call('HDEL', key, 'from', 'to', 'gap from', 'gap to')
    jumped_from, jumped_to, gap_from, gap_to = nil, nil, nil, nil
  end
  local ended_by = math.min(now, expected or at)
  local grace = { ended_by = ended_by, next = ended_by, back = back, back_ended = tonumber(back_ended) }
  if now < over then grace.ended_by, grace.next = math.min(held, ended_by), over end
  if from or not last_at or gap < 0 or gap >= NOTE_MS then
    redis.call(
      'HSET', key, 'at', call.now_text, 'held', whole(held), 'until', whole(over), 'graces', graces,
      'ended', whole(grace.ended_by))
  end
  grace.jumped_from, grace.jumped_to = tonumber(jumped_from), tonumber(jumped_to)
  grace.gap_from, grace.gap_to = tonumber(gap_from), tonumber(gap_to)
  return grace
end

-- When a lease that a jump has cut short ends, ms; nil if no jump has.
--   ended  when it ended by the clock
--   lease  for how long it was taken or renewed, ms
function Grace.begun_anew(call, grace, ended, lease)
  local from, to = grace.jumped_from, grace.jumped_to
  -- A later time is from before the clock was set back.
  if not to or to > call.now or ended <= from then return nil end
  -- Taken after it. A process knows the time before a jump only to within its call, and the clock has shown none in between.
  if ended > to and ended - lease > (from + to) / 2 then return nil end
  return to + math.max(lease, ended - from)
end

local function later_after(call, from, to, ended, presence)
  -- A later time is from before the clock was set back.
  if not to or to > call.now or ended <= from then return nil end
  local later = to + math.floor(presence / 2)
  return ended < later and later or nil
end

-- When a presence that a gap or a jump has cut short ends, ms; nil if none has. Half a presence is enough for callers that look as often
-- as Retry-After says, which is every third of it.
--   ended     when it ended by the clock
--   presence  how long a task may go without a look, ms
function Grace.absent_later(call, grace, ended, presence)
  return later_after(call, grace.gap_from, grace.gap_to, ended, presence)
    or later_after(call, grace.jumped_from, grace.jumped_to, ended, presence)
end

return Grace
