-- Some tasks are turns of callers who work themselves: all of a queue of turns, which has no handler, or some of a queue with a handler,
-- where others wait for workers in the same line. Such a queue has a total. Every script that frees a slot or lets a task join begins the
-- turns that are in front, and wakes workers for what comes then. A turn that runs has no worker. Its lease ends when it has lasted as long
-- as any may; its presence, an entry in K.deadlines like that of any task, ends it before if its holder stops looking.
local Turns = {}

local whole = Number.whole
-- The end of the lease of a turn that may last for any time.
local NEVER_MS = 2 ^ 53
-- Maximum number of turns that begin in one call.
local MAX_BEGUN = 100

-- When the lease of a turn ends that begins at a time, ms.
--   longest  for how long it may last, ms, 0 for any time
function Turns.end_of_lease(at, longest)
  return whole(longest == 0 and NEVER_MS or at + longest)
end

-- A task is called: it is the turn of whoever submitted it, in whatever process they wait. The verdict of its submission tells it, too, if it
-- is called at once.
function Turns.call(call, id, listeners, webhook)
  if listeners and not (call.submitted and call.submitted[id]) then Notices.to_all(call, id, S.running, listeners) end
  if webhook then Follow.tell_webhook(call, id, S.running, webhook) end
end

-- While the gate of a queue lets nothing through, one turn at a time finds out whether that may end: Q.trial. Turns that began before may last
-- for long, and say nothing about it. Returns how many may begin, and else in how many ms one may.
local function while_resting(call, queue, rest, trial, count)
  local left = tonumber(string.match(rest, '^%d+ (%d+)') or 0) - call.now
  if left > 0 then return 0, left end
  local is_tried = trial and redis.call('ZSCORE', K.leases(call, queue), trial)
  return is_tried and 0 or math.min(1, count)
end

-- Begins as many turns of a queue as are in front of its line and there is room for. Returns after how many ms more may begin: 0 if there are
-- too many for one call, nil if that depends on something else than time.
function Turns.begin(call, queue, total, longest)
  local room = Total.room(call, queue, total)
  local count = math.min(MAX_BEGUN, room)
  if count == 0 or redis.call('EXISTS', K.waiting(call, queue)) == 0 then return nil end
  local key = K.queue(call, queue)
  local paused, fence, limit, rekey_from, set_rate, declared_rate, rest, trial =
    unpack(redis.call('HMGET', key, Q.paused, Q.fence, Q.keyed, Q.rekey, Q.setRate, Q.rate, Q.rest, Q.trial))
  if paused == '1' then return nil end
  local rested
  if rest then count, rested = while_resting(call, queue, rest, trial, count) end
  local rate, span = string.match(set_rate or declared_rate or '', '^(%d+) (%d+)$')
  local request = { queue = queue, worker = '', turn = longest, rate = tonumber(rate or nil), span = tonumber(span or nil) }
  local keyed = limit and Keyed.limit(call, queue, limit)
  local undecided = rekey_from and Start.rekey(call, queue, rekey_from) or nil
  local pause
  Keyed.write(call)
  if request.rate then count, pause = Start.allowed_by_rate(call, request, count) end
  local begun, last_fence = 0, tonumber(fence or 0)
  repeat
    local entries = Start.take(call, queue, count - begun, keyed, undecided, 'turns')
    local ids, fence_now = Start.start(call, request, entries, last_fence, keyed)
    begun, last_fence = begun + #ids, fence_now
    if rest and ids[1] then redis.call('HSET', key, Q.trial, ids[1]) end
    -- An entry without a task must not cost anybody the turn.
    local healed = #entries / 2 - #ids
    if healed > 0 then redis.call('HINCRBY', key, Q.healed, healed) end
  until healed == 0
  if begun > 0 then redis.call('HSET', key, Q.fence, whole(last_fence)) end
  if begun == MAX_BEGUN then return 0 end
  if begun < room then Total.wake(call, queue, keyed) end
  return rested or pause and pause > 0 and pause or nil
end

-- The same for a queue that may be none of turns.
function Turns.begin_if_any(call, queue)
  local declared, set = unpack(redis.call('HMGET', K.queue(call, queue), Q.total, Q.setTotal))
  local longest = Total.longest_turn(declared)
  return longest and Turns.begin(call, queue, Total.of(declared, set), longest)
end

-- Ends a turn that has lasted as long as any may: failed, not dead.
--   result  the stored form of its answer
function Turns.expire(call, queue, id, retention, result)
  Total.free(call, queue, id)
  redis.call('HSET', K.task(call, id), F.errorCode, C.taskTimeout)
  Settle.finish(call, id, S.failed, retention, result)
  Rate.count(call, queue, R.finished, 1)
  Rate.count(call, queue, R.failed, 1)
end

return Turns
