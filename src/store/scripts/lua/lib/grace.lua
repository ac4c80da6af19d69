-- While no tick runs (the store stands still, or every process is away), no lease can be renewed either: the leases that end
-- meanwhile say nothing of their workers. After such a gap they are left alone for a grace, so that renewals come first. Needs clock.
-- A tick comes every second at the latest: a longer pause is a gap, be it that the clock was set forward.
local GAP_MS, GRACE_MS = 1500, 2000
-- Where every tick is late, so many gaps in a row have a grace; after that, what has expired is lost.
local MOST_GRACES = 10
-- So often at most it is noted that a tick ran.
local NOTE_MS = 200

-- Notes that a tick runs. Returns until when leases must have ended to count as lost now, and when that changes, both ms.
local function lost_before()
  local key = K.ticked
  local last_at, held, over, graces = unpack(redis.call('HMGET', key, 'at', 'held', 'until', 'graces'))
  local at = tonumber(last_at or now)
  held, graces = tonumber(held or 0), tonumber(graces or 0)
  -- Where the clock was set back a grace does not last longer than another one would.
  over = math.min(tonumber(over or 0), now + GRACE_MS)
  local gap = now - at
  if gap > GAP_MS and graces < MOST_GRACES then
    -- A grace that the gap has cut short goes on for those for whom it was meant.
    if over <= at then held = at end
    over, graces = now + GRACE_MS, graces + 1
  elseif gap > GAP_MS then
    over, graces = 0, 0
  elseif gap >= NOTE_MS then
    graces = 0
  end
  if not last_at or gap < 0 or gap >= NOTE_MS then
    redis.call('HSET', key, 'at', now_text, 'held', whole(held), 'until', whole(over), 'graces', graces)
  end
  if now < over then return math.min(held, now), over end
  return now, now
end
