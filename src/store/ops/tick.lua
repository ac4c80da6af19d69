-- Applies the passage of time to queues: cancels tasks past their deadline or that nobody looks at, lets due tasks join the line, returns
-- tasks of lost workers to it, deletes old dead letters, closes groups that were left open, and goes on canceling others. Any number of
-- processes may call it at any time.

local whole = Number.whole
-- The work of a task that joins the line, and of one that ends or is taken back, as multiples of an entry that is only removed.
local JOIN, MOVE = 2, C.moveWork

-- While no tick runs (the store stands still, every process is away, or the machine is suspended), nobody can renew a lease or look at a
-- task, so what ends in that time says nothing about a worker or a caller. A tick comes every second at the latest, or after the planned
-- pause of its process if nothing ran; a longer pause is a gap. A step of the clock forward looks the same.
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
local function note_tick(call, paused)
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

-- When a lease or a presence that a gap has cut short ends, ms; nil if none has.
--   ended  when it ended by the clock
--   again  for how long it is given again, ms, but not for less than it takes to connect
local function later_end(gap, ended, again)
  if not gap.to or ended <= gap.from then return nil end
  local later = gap.to + math.max(MIN_LATER_MS, math.floor(again))
  return ended < later and later or nil
end

-- A pass is the state of one call: {left: what is left of the limit over all queues, so that no call blocks Redis for long; cap: maximum
-- number of dead tasks kept; soonest: when there is more to do, ms; promoted, lost, late, held, unrenewed: for the answer; gap: see
-- note_tick; timeout: how a turn ends that has lasted too long}.

local function consider(pass, due)
  if due and (not pass.soonest or due < pass.soonest) then pass.soonest = due end
end

local function first_score(key)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2])
end

-- How many entries the limit still allows, if each is so much work.
local function room(pass, work)
  return math.max(0, math.floor(pass.left / work))
end

-- The first entries of an index up to a score, as many as the limit still allows, and their scores.
local function due_in(pass, key, score, work)
  local some, ids, scores = redis.call('ZRANGEBYSCORE', key, '-inf', score, 'WITHSCORES', 'LIMIT', 0, room(pass, work)), {}, {}
  for n = 1, #some, 2 do ids[#ids + 1], scores[#scores + 1] = some[n], tonumber(some[n + 1]) end
  pass.left = pass.left - #ids * work
  return ids, scores
end

-- Why a task whose entry is due must be canceled; nil if it must not.
local function cause_of(call, pass, queue, id, at, state, deadline, presence)
  -- The entry of a task that has left the store must not cancel a later task with the same id.
  if Actions.ending(call, state) ~= 'cancel' then return nil end
  if deadline and tonumber(deadline) <= call.now then return C.cancelByDeadline end
  if not presence then return nil end
  local later = later_end(pass.gap, at, tonumber(presence))
  if not later then return C.cancelByAbsence end
  redis.call('ZADD', K.deadlines(call, queue), whole(later), id)
  return nil
end

-- Nobody has looked at a group or its members for as long as its presence: all that have not ended are canceled, see pass_groups.
local function pass_absence(call, pass, queue, group, entry, at)
  local presence = Deadlines.presence_of(call, entry)
  local later = presence and later_end(pass.gap, at, presence)
  if later then
    redis.call('ZADD', K.deadlines(call, queue), whole(later), entry)
  elseif presence then
    Group.begin_cancel(call, group, C.cancelByAbsence)
  end
end

-- Cancels the tasks whose deadline has passed, and those that nobody has looked at for as long as their presence. Returns whether the
-- queue has tasks with either: most queues have none.
local function pass_deadlines(call, pass, of)
  local queue = of.queue
  local deadlines = K.deadlines(call, queue)
  local first = first_score(deadlines)
  if not first then return false end
  if first > call.now then return true end
  local retention = Result.retention(call, of.keepMs, of.tombstoneMs)
  local due, times = due_in(pass, deadlines, call.now_text, MOVE)
  for n, id in ipairs(due) do
    redis.call('ZREM', deadlines, id)
    local group = Deadlines.group_of(id)
    if group then pass_absence(call, pass, queue, group, id, times[n]) end
    local state, deadline, presence = unpack(redis.call('HMGET', K.task(call, id), F.state, F.deadline, F.presenceMs))
    local cause = not group and cause_of(call, pass, queue, id, times[n], state, deadline, presence)
    if cause then
      local verdict = Settle.cancel(call, id, state, queue, cause, retention)
      pass.late[#pass.late + 1] = { queue = queue, id = id, verdict = verdict, reason = Deadlines.reason(cause) }
    end
  end
  return true
end

-- A due task joins the line. Returns the last place in line.
local function promote_one(call, queue, id, key, state, place, run, listeners, of_key, holds, group, hlc)
  local _, _, _, old_place = Run.readable_parts(call, run, place)
  local share = state == S.scheduled and Fair.is_fair(place) and redis.call('HGET', key, F.share)
  if place then redis.call('HDEL', key, F.place) end
  redis.call('HSET', key, F.state, S.waiting)
  -- A webhook does not keep its old place, so that a receiver that hangs does not repeatedly come before those that answer.
  if state == S.scheduled or queue == Call.own_queue(call, C.webhookQueue) then
    hlc = Call.next_hlc(call, hlc)
    Line.join(call, queue, id, math.floor(tonumber(place or old_place) / C.classSpan), hlc, share, of_key)
  else
    Line.put_back(call, queue, id, old_place, of_key, holds)
  end
  if group then Group.note(call, group, id) end
  Notices.change(call, id, S.waiting, listeners)
  return hlc
end

local function promote(call, pass, queue)
  local due = due_in(pass, K.scheduled(call, queue), call.now_text, JOIN)
  if #due == 0 then return end
  local last, limit = unpack(redis.call('HMGET', K.queue(call, queue), Q.hlc, Q.keyed))
  local hlc = tonumber(last or 0)
  Keyed.limit(call, queue, limit)
  for _, id in ipairs(due) do
    local key = K.task(call, id)
    local state, place, run, listeners, of_key, holds, group =
      unpack(redis.call('HMGET', key, F.state, F.place, F.run, F.listeners, F.key, F.holds, F.group))
    redis.call('ZREM', K.scheduled(call, queue), id)
    if state == S.scheduled or state == S.retrying then
      hlc = promote_one(call, queue, id, key, state, place, run, listeners, of_key, holds, group, hlc)
      pass.promoted = pass.promoted + 1
    end
  end
  redis.call('HSET', K.queue(call, queue), Q.hlc, whole(hlc))
  Worker.note_need(call, queue, #due)
  Notices.work(call, queue)
  Total.note(call, queue)
end

-- Takes back tasks whose leases have ended: their workers are lost.
local function reclaim(call, pass, of)
  local queue = of.queue
  local leases = K.leases(call, queue)
  local expired, ends_at = due_in(pass, leases, call.now_text, MOVE)
  if #expired == 0 then return end
  local usual = redis.call('HGET', K.ticked(call), 'lease ' .. queue)
  for n, id in ipairs(expired) do
    local state, run, taken_for, turn = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run, F.lease, F.turn))
    -- Half of a lease is enough: workers renew it after a third.
    local later = not turn and later_end(pass.gap, ends_at[n], tonumber(taken_for or usual or 0) / 2)
    if state == S.running and turn then
      Turns.expire(call, queue, id, Result.retention(call, of.keepMs, of.tombstoneMs), pass.timeout)
      pass.late[#pass.late + 1] = { queue = queue, id = id, verdict = 'failed', reason = 'longest' }
    elseif state == S.running and later then
      redis.call('ZADD', leases, whole(later), id)
    elseif state == S.running then
      local _, _, _, _, worker = Run.parts(run)
      local outcome, losses = Lease.lose(call, queue, id, of, pass.cap)
      pass.lost[#pass.lost + 1] = { queue = queue, id = id, worker = worker or '', losses = losses, outcome = outcome }
    else
      Total.free(call, queue, id)
    end
  end
  Worker.note_need(call, queue, #expired)
  Notices.work(call, queue)
end

-- Whether less than half of a lease is left: workers renew it after a third.
local function is_unrenewed(call, of, id, ends_at)
  local usual, left = tonumber(of.leaseMs), ends_at - call.now
  if not usual or left >= usual / 2 then return false end
  local taken_for = redis.call('HGET', K.task(call, id), F.lease)
  return not taken_for or left < tonumber(taken_for) / 2
end

-- What is left to do in a queue, and when.
local function consider_queue(call, pass, of, has_deadlines)
  local queue = of.queue
  consider(pass, first_score(K.scheduled(call, queue)))
  if has_deadlines then consider(pass, first_score(K.deadlines(call, queue))) end
  local id, ends_at = unpack(redis.call('ZRANGE', K.leases(call, queue), 0, 0, 'WITHSCORES'))
  if not id then return end
  pass.held = true
  consider(pass, tonumber(ends_at))
  if is_unrenewed(call, of, id, tonumber(ends_at)) then pass.unrenewed[#pass.unrenewed + 1] = queue end
end

-- Closes groups that were left open, and goes on canceling others, as far as the limit still allows.
local function pass_groups(call, pass)
  local groups = K.groups(call)
  for _, group in ipairs(redis.call('ZRANGEBYSCORE', groups, '-inf', call.now_text, 'LIMIT', 0, room(pass, MOVE))) do
    if redis.call('HEXISTS', K.group(call, group), G.canceling) == 0 then
      Group.close(call, group)
      pass.left = pass.left - 1
    elseif room(pass, MOVE) > 0 then
      pass.left = pass.left - MOVE * Settle.cancel_members(call, group, room(pass, MOVE))
    end
  end
  consider(pass, first_score(groups))
end

-- Everything except deadlines.
local function pass_time(call, pass, of)
  promote(call, pass, of.queue)
  reclaim(call, pass, of)
  -- The data of a dead letter has expired with its TTL; this removes its entry.
  local old = due_in(pass, K.dead(call, of.queue), whole(call.now - of.deadMs), 1)
  if #old > 0 then redis.call('ZREM', K.dead(call, of.queue), unpack(old)) end
end

-- The queues that may have something due, starting with another one each time, so that a long queue delays no other; and the names of those
-- in which tasks wait. Most ticks find nothing at all, as one command shows.
local function queues_to_pass(call, queues)
  local count, keys, to_pass, waiting = #queues, {}, {}, {}
  for _, of in ipairs(queues) do
    local queue, at = of.queue, #keys
    keys[at + 1], keys[at + 2], keys[at + 3] = K.waiting(call, queue), K.scheduled(call, queue), K.leases(call, queue)
    keys[at + 4], keys[at + 5] = K.deadlines(call, queue), K.dead(call, queue)
  end
  if count == 0 or redis.call('EXISTS', unpack(keys)) == 0 then return to_pass, waiting end
  for n, of in ipairs(queues) do
    if redis.call('EXISTS', keys[5 * n - 4]) == 1 then waiting[#waiting + 1] = of.queue end
  end
  for turn = 0, count - 1 do
    local n = (call.now + turn) % count
    if redis.call('EXISTS', unpack(keys, 5 * n + 2, 5 * n + 5)) > 0 then to_pass[#to_pass + 1] = queues[n + 1] end
  end
  return to_pass, waiting
end

-- Returns how many joined the line; ms until a task is due, a lease ends or a deadline passes (nothing for none; 0 when the limit was
-- reached); for each task that lost its worker its outcome ("released": its handler had not begun, no loss is counted), and for each that time
-- ends the verdict ("requested": it is running, its worker is notified; "failed": a turn that has lasted too long) and the reason; whether
-- any lease is held; the queues in which a worker has probably died, since a lease is not renewed; and those in which tasks wait. The limit
-- is of the work in one call, over all queues.
register('tick', { 'allow-oom' }, function(call, asked)
  local pass = {
    left = asked.limit,
    cap = asked.deadCap or C.deadCap,
    soonest = nil,
    promoted = 0,
    lost = {},
    late = {},
    held = false,
    unrenewed = {},
    gap = note_tick(call, asked.pausedMs or 0),
    timeout = asked.timeout,
  }
  local to_pass, waiting = queues_to_pass(call, asked.items)
  -- First, so that canceled tasks neither join the line nor return to it.
  local has_deadlines = {}
  for n, of in ipairs(to_pass) do has_deadlines[n] = pass_deadlines(call, pass, of) end
  for _, of in ipairs(to_pass) do pass_time(call, pass, of) end
  pass_groups(call, pass)
  Total.close(call)
  for _, queue in ipairs(waiting) do
    local pause = Turns.begin_if_any(call, queue)
    if pause then consider(pass, call.now + pause) end
  end
  for n, of in ipairs(to_pass) do consider_queue(call, pass, of, has_deadlines[n]) end
  Settle.close(call)
  return {
    promoted = pass.promoted,
    nextMs = pass.soonest and math.max(0, pass.soonest - call.now) or cjson.null,
    lost = pass.lost,
    late = pass.late,
    held = pass.held,
    unrenewed = pass.unrenewed,
    waiting = waiting,
  }
end)
