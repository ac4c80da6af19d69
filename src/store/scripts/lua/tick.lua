-- What time does to a queue: tasks past their deadline are canceled, due tasks join the line, tasks of lost workers return to it, old dead letters leave.
-- Any number of processes may call it at any time.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  limit: most tasks in one call, over all its queues; and most that are brought forward
-- ARGV[2]  cap: most dead tasks kept of a queue
-- ARGV[3]  expected: what the clock says at least, by that of the process, ms; "" if it has not seen the clock before
-- ARGV[4]  from: what the clock said before a jump forward that the process has noticed since its last tick, ms; "" for none
-- ARGV[5]  to: what it said after that jump, ms; "" for none
-- ARGV[6]  paused: how long the process has waited on purpose since its last tick, ms; 0 for the usual time
-- ARGV[7]  count: number of queues, each with the six arguments that follow
-- ARGV[8…] queue, lost limit (losses a task survives), keep (ms, of a canceled result), tombstone (ms), dead (ms that dead
--          tasks stay), problem (stored form of the worker-lost answer)
--
-- Returns {promoted, next, lost, late, now, held, waiting}: how many joined the line; ms until a task is due, a lease ends or a deadline passes ("" for
-- none; 0 when the limit was reached); of each task that lost its worker {queue, id, worker, losses,
-- "waiting" | "released" (its handler had not begun: no loss is counted) | "dead" | "canceled"}; and of each task whose deadline has passed {queue, id, "canceled" | "requested" (it is running: its
-- worker is told)}; what the clock says, ms; 1 if any lease is held, else 0; and the queues in which tasks wait.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run
--#include past
--#include freed
--#include keyed
--#include grace
--#include setback
--#include rate
--#include input
--#include follow
--#include large
--#include result
--#include notify
--#include finished
--#include settle
--#include fair
--#include share
--#include cancel
--#include unbegun
--#include lose

-- left, to_forward: what is left of the limit; however many queues there are, no call holds up Redis for long.
local left, cap = tonumber(ARGV[1]), tonumber(ARGV[2])
local to_forward = left
local promoted, soonest, lost, late = 0, nil, {}, {}
local ended_by, ended_until = lost_before(tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]))
read_setback()

local function consider(due)
  if due and (not soonest or due < soonest) then soonest = due end
end

local function first_score(key)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2])
end

-- The first entries of an index up to a score, as many as are left of the limit, and their scores.
local function due_in(key, score)
  local some, ids, scores = redis.call('ZRANGEBYSCORE', key, '-inf', score, 'WITHSCORES', 'LIMIT', 0, left), {}, {}
  for n = 1, #some, 2 do ids[#ids + 1], scores[#scores + 1] = some[n], tonumber(some[n + 1]) end
  left = left - #ids
  return ids, scores
end

-- The queues in which tasks have deadlines: most have none.
local dated = {}
local function pass_deadlines(queue, keep, tombstone)
  local first = first_score(K.deadlines(queue))
  if not first then return end
  if first <= now then
    for _, id in ipairs(due_in(K.deadlines(queue), now_text)) do
      redis.call('ZREM', K.deadlines(queue), id)
      local state, deadline = unpack(redis.call('HMGET', K.task(id), F.state, F.deadline))
      local pending = state == S.waiting or state == S.scheduled or state == S.retrying or state == S.running
      -- The entry of a task that has gone from the store must not cancel a later one of the same id.
      if pending and deadline and tonumber(deadline) <= now then
        late[#late + 1] = { queue, id, cancel_pending(id, state, queue, C.cancelByDeadline, keep, tombstone) }
      end
    end
  end
  dated[queue] = true
end

local function promote(queue)
  local due = due_in(K.scheduled(queue), now_text)
  if #due == 0 then return end
  local last, limit = unpack(redis.call('HMGET', K.queue(queue), Q.hlc, Q.keyed))
  local hlc = tonumber(last or 0)
  key_limit(queue, limit)
  for _, id in ipairs(due) do
    local key = K.task(id)
    local state, place, run, listeners, of_key =
      unpack(redis.call('HMGET', key, F.state, F.place, F.run, F.listeners, F.key))
    redis.call('ZREM', K.scheduled(queue), id)
    if state == S.scheduled or state == S.retrying then
      local _, _, _, score = readable_run(run, place)
      -- A scheduled task joins at the end of its class; a retrying one has stood in line before and keeps its place, but for
      -- a webhook's: a receiver that hangs must not come before those that answer, again and again.
      if state == S.scheduled or queue == WEBHOOKS then
        hlc = tick_hlc(hlc)
        score = whole(math.floor(tonumber(place or score) / CLASS) * CLASS + hlc)
      end
      -- In a fair line a scheduled task joins at the end of its key.
      local share = state == S.scheduled and place % 1 ~= 0 and redis.call('HGET', key, F.share)
      if place then redis.call('HDEL', key, F.place) end
      redis.call('HSET', key, F.state, S.waiting)
      if share then
        score = rejoin_fair(queue, id, floor(place / CLASS), share)
      else
        redis.call('ZADD', K.waiting(queue), score, id)
      end
      if state == S.scheduled then
        rejoin_key(queue, id, of_key, score, whole(hlc))
      else
        if of_key then keep_key(queue, id, of_key) end
        join_key(queue, id, of_key, score, true)
      end
      notify(id, S.waiting, listeners)
      promoted = promoted + 1
    end
  end
  redis.call('HSET', K.queue(queue), Q.hlc, whole(hlc))
  redis.call('PUBLISH', K.work(queue), '')
end

local function reclaim(queue, ends)
  local expired, ends_at = due_in(K.leases(queue), whole(ended_by))
  if #expired == 0 then return end
  local usual = redis.call('HGET', K.ticked, 'lease ' .. queue)
  for n, id in ipairs(expired) do
    local state, run, taken_for = unpack(redis.call('HMGET', K.task(id), F.state, F.run, F.lease))
    local anew = begun_anew(ends_at[n], tonumber(taken_for or usual or 0))
    if state == S.running and anew then
      redis.call('ZADD', K.leases(queue), whole(anew), id)
    elseif state == S.running then
      local _, _, _, _, worker = run_of(run)
      local fate, losses = lose(queue, id, ends)
      lost[#lost + 1] = { queue, id, worker or '', losses, fate }
    else
      redis.call('ZREM', K.leases(queue), id)
    end
  end
  redis.call('PUBLISH', K.work(queue), '')
end

local held = 0
-- Does what time does to a queue, but for its deadlines.
local function pass_time(n)
  local queue, most_lost, keep, tombstone, dead, problem = unpack(ARGV, 8 + n * 6, 13 + n * 6)
  local ends = { most_lost = tonumber(most_lost), problem = problem, keep = tonumber(keep), cap = cap }
  ends.tombstone, ends.dead = tonumber(tombstone), tonumber(dead)
  if to_forward > 0 then
    local seen, all = pass_setback(queue, to_forward)
    to_forward = to_forward - seen
    if not all then consider(now) end
  end
  promote(queue)
  reclaim(queue, ends)
  -- What a dead letter holds has ended with its TTL; here its entry goes.
  local old = due_in(K.dead(queue), whole(now - ends.dead))
  if #old > 0 then redis.call('ZREM', K.dead(queue), unpack(old)) end
  consider(first_score(K.scheduled(queue)))
  if dated[queue] then consider(first_score(K.deadlines(queue))) end
  local lease_end = first_score(K.leases(queue))
  if lease_end then held = 1 end
  consider(lease_end and lease_end > ended_by and math.max(lease_end, ended_until) or lease_end)
end

-- Another queue is the first each time, so that a long one keeps none waiting.
local queues = tonumber(ARGV[7])
local waiting = {}

-- Most ticks find nothing at all: one command tells. In others most queues have nothing on which time has an effect.
local keys, idle = {}, {}
for n = 0, queues - 1 do
  local queue, at = ARGV[8 + n * 6], 5 * n
  keys[at + 1], keys[at + 2], keys[at + 3] = K.waiting(queue), K.scheduled(queue), K.leases(queue)
  keys[at + 4], keys[at + 5] = K.deadlines(queue), K.dead(queue)
end
if not set_from and redis.call('EXISTS', unpack(keys)) == 0 then return { 0, '', {}, {}, now_text, 0, {} } end
for n = 0, queues - 1 do
  local queue = ARGV[8 + n * 6]
  idle[n] = not set_from and redis.call('EXISTS', unpack(keys, 5 * n + 2, 5 * n + 5)) == 0
  if redis.call('EXISTS', keys[5 * n + 1]) == 1 then waiting[#waiting + 1] = queue end
end

-- Before all else: what is canceled neither joins the line nor returns to it.
for turn = 0, queues - 1 do
  local n = (now + turn) % queues
  if not idle[n] then pass_deadlines(ARGV[8 + n * 6], tonumber(ARGV[10 + n * 6]), tonumber(ARGV[11 + n * 6])) end
end
for turn = 0, queues - 1 do
  local n = (now + turn) % queues
  if not idle[n] then pass_time(n) end
end
send_notices()
tell_freed()
return { promoted, soonest and whole(math.max(0, soonest - now)) or '', lost, late, now_text, held, waiting }
