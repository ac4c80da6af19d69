-- While no tick runs (the store stands still, every process is away, or the machine is suspended), nobody can renew a lease or look at a task,
-- so what ends in that time says nothing about a worker or a caller. A tick comes every second at the latest, or after the planned pause of
-- its process if nothing ran; a longer pause is a gap. A step of the clock forward looks the same.
local Grace = {}

local GAP_MS = 1500
-- How much later than planned a tick may come, ms.
local LATE_MS = 500
-- If every tick is late, this many gaps in a row count; after that, leases that have ended are lost.
local MAX_GAPS = 10
-- How often it is recorded at most that a tick ran, ms.
local NOTE_MS = 200
-- Connections that a gap has closed are open again after this time, ms.
local MIN_LATER_MS = 2000

-- Records that a tick runs.
--   paused  the pause that the process has planned since its last tick, ms; 0 for the usual one
-- Returns the latest gap, as {from, to}, ms; an empty table if there was none.
function Grace.note_tick(call, paused)
  local key, now = K.ticked(call), call.now
  local at, gaps, from, to = unpack(redis.call('HMGET', key, 'at', 'gaps', 'gap from', 'gap to'))
  local pause = now - tonumber(at or 0)
  gaps = tonumber(gaps or 0)
  if at and pause > math.max(GAP_MS, paused + LATE_MS) and gaps < MAX_GAPS then
    from, to, gaps = at, now, gaps + 1
    redis.call('HSET', key, 'gap from', from, 'gap to', call.now_text)
  else
    gaps = 0
  end
  if math.abs(pause) >= NOTE_MS then redis.call('HSET', key, 'at', call.now_text, 'gaps', gaps) end
  return { from = tonumber(from or nil), to = tonumber(to or nil) }
end

-- When a lease or a presence that a gap has cut short ends, ms; nil if none has. Half of it is enough: workers renew a lease after a third of
-- it, and callers look as often as Retry-After says, which is every third of a presence; but of a short one that is too soon.
--   ended  when it ended by the clock
--   span   for how long it was given, ms
function Grace.later(gap, ended, span)
  if not gap.to or ended <= gap.from then return nil end
  local later = gap.to + math.max(MIN_LATER_MS, math.floor(span / 2))
  return ended < later and later or nil
end

return Grace
