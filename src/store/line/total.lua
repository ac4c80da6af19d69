-- A queue may have a total: at most so many of its tasks run at once, over all processes. A task that runs has an entry in K.leases, so their
-- number says how many more may start. Who ends a run, or lets a task join, notes that here; at the end of the call, the next turns begin, or
-- workers are told that they may ask again.
local Total = {}

-- The total of a queue, nil for none. declared, set: its fields; "total longest" of a queue with turns.
function Total.of(declared, set)
  return tonumber(set or (declared and string.match(declared, '^%d+')) or nil)
end

-- For how long a turn of the queue lasts at most, ms, 0 for any time; nil if it has no turns.
function Total.longest_turn(declared)
  return tonumber(declared and string.match(declared, ' (%d+)$') or nil)
end

-- How many more may start.
function Total.room(call, queue, total)
  return math.max(0, total - redis.call('ZCARD', K.leases(call, queue)))
end

-- Fewer of a queue run, more wait, or more may run.
function Total.note(call, queue)
  local noted = call.totals
  if not noted then
    noted = {}
    call.totals = noted
  end
  noted[queue] = true
end

-- A task no longer runs.
function Total.free(call, queue, id)
  redis.call('ZREM', K.leases(call, queue), id)
  Total.note(call, queue)
end

-- There is room: workers that found all slots taken wait for work. Not for a turn, which no worker takes.
function Total.wake(call, queue, keyed)
  local first = redis.call('ZRANGE', keyed and K.startable(call, queue) or K.waiting(call, queue), 0, 0)[1]
  if not first or redis.call('HEXISTS', K.task(call, first), F.turn) == 1 then return end
  redis.call('ZADD', K.wake(call, queue), 0, '1')
  Notices.work(call, queue, C.passedOn)
end

-- Does at the end of a call what has been noted.
function Total.close(call)
  local noted = call.totals
  if not noted then return end
  call.totals = nil
  Keyed.write(call)
  for queue in pairs(noted) do
    local declared, set, keyed = unpack(redis.call('HMGET', K.queue(call, queue), Q.total, Q.setTotal, Q.keyed))
    local total, longest = Total.of(declared, set), Total.longest_turn(declared)
    if longest then
      Turns.begin(call, queue, total, longest)
    elseif total and Total.room(call, queue, total) > 0 then
      Total.wake(call, queue, keyed)
    end
  end
end

return Total
