-- The figures of a queue that an estimate needs: see line/snapshot.ts.
--   service    see complete.lua; "" if no task has ended yet
--   slots      of live workers, at most the total of the queue, which is that of a queue of turns; followed by "max wait" if a slot has one
--              call with several tasks, see Q.batch
--   rate       "" without one; else "max per", how many tasks may start in how many ms, and for some of the latest starts within that time,
--              from the newest on, "nth age": the how-manieth it is, from 0, and how many ms ago it was
--   ages       for how many ms some of the running tasks have been running, and if they have reported progress, "age percent whole", where
--              the last is how many ms the whole run takes at that pace; only read while not all tasks have a slot, and in keyed lines
--   startable  how many may start, and if others are held, how many of a hundred waiting tasks have the most frequent key; "" or left out
--              for a queue that is not keyed
--   starting   without a live worker, the figures of starts, see worker.lua; otherwise left out
local Snapshot = {}

local whole = Number.whole
local SNAPSHOT = Layout.inspect.snapshot
local MAX_AGES = 16
local MAX_STARTS = 16

-- Reads its fields of the queue's hash, followed by further ones; the last of its own is the limit of a keyed queue.
function Snapshot.read(call, queue, ...)
  return redis.call(
    'HMGET', K.queue(call, queue), Q.paused, Q.workers, Q.slots, Q.liveUntil, Q.service, Q.rest, Q.batch, Q.setRate, Q.rate,
    Q.total, Q.setTotal, Q.keyed, ...
  )
end

local function ages_of_some(call, leases)
  local ages = {}
  for n, id in ipairs(redis.call('ZRANDMEMBER', leases, MAX_AGES)) do
    local run, progress = unpack(redis.call('HMGET', K.task(call, id), F.run, F.progress))
    local fence, late = Run.parts(run)
    local percent, total = string.match(progress or '', '^(%S+) (%S+) ')
    ages[n] = whole(math.max(0, call.now - (Run.begun(fence, late) or call.now))) .. (percent and ' ' .. percent .. ' ' .. total or '')
  end
  return ages
end

-- The rate and some of the latest starts: evenly spaced ones of the list, which is as long as the rate allows.
local function rate_and_starts(call, queue, rate)
  local max, span = string.match(rate, '^(%d+) (%d+)$')
  local starts, words = K.starts(call, queue), { rate }
  local last = math.min(max, redis.call('LLEN', starts)) - 1
  local step = math.max(1, last / (MAX_STARTS - 1))
  for n = 0, last < 0 and -1 or math.floor(last / step + 0.5) do
    local nth = math.floor(n * step + 0.5)
    local age = call.now - redis.call('LINDEX', starts, nth)
    words[#words + 1] = nth .. ' ' .. whole(math.max(0, age))
    if age >= tonumber(span) then break end
  end
  return table.concat(words, ' ')
end

local SAMPLED = 8

-- How many of a hundred waiting tasks have the most frequent key, by a few of them.
local function share_of_most_frequent(call, queue)
  local counts, most = {}, 0
  local some = redis.call('ZRANDMEMBER', K.waiting(call, queue), SAMPLED)
  for _, id in ipairs(some) do
    local key = redis.call('HGET', K.task(call, id), F.key)
    local name = key and string.match(key, ' (.*)$')
    if name then
      counts[name] = (counts[name] or 0) + 1
      most = math.max(most, counts[name])
    end
  end
  return whole(#some < SAMPLED and 0 or 100 * most / SAMPLED)
end

-- The snapshot from the fields that were read. startable: nil for a queue that is not keyed.
function Snapshot.with(call, queue, q, waiting, scheduled, startable)
  local paused, workers, slots, live_until, service, rest, batch, set_rate, declared, of_total, set_total, keyed = unpack(q, 1, 12)
  local rate = set_rate or declared
  local total, is_of_turns = Total.of(of_total, set_total), Total.longest_turn(of_total)
  local live = is_of_turns or tonumber(live_until or 0) > call.now
  slots = is_of_turns and total or live and tonumber(slots or 0) or 0
  if total and total < slots then slots = total end
  local leases = K.leases(call, queue)
  local running = redis.call('ZCARD', leases)
  local is_busy = live and running > 0 and (keyed or running + waiting > slots or running >= slots)
  -- Preallocated: a table that grows, or does not start as a list, costs a submission up to 4 % more.
  local snapshot = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
  snapshot[SNAPSHOT.queue] = queue
  snapshot[SNAPSHOT.paused] = paused or '0'
  snapshot[SNAPSHOT.resting] = rest and '1' or '0'
  snapshot[SNAPSHOT.waiting] = waiting
  snapshot[SNAPSHOT.scheduled] = scheduled
  snapshot[SNAPSHOT.running] = running
  snapshot[SNAPSHOT.workers] = live and workers or '0'
  snapshot[SNAPSHOT.slots] = whole(slots) .. (batch and ' ' .. batch or '')
  snapshot[SNAPSHOT.service] = service or ''
  snapshot[SNAPSHOT.rate] = rate and rate_and_starts(call, queue, rate) or ''
  snapshot[SNAPSHOT.ages] = is_busy and ages_of_some(call, leases) or {}
  local starting = not live and Worker.start_of(call, queue, waiting, live_until)
  -- Redis ends a list at the first gap.
  if startable and waiting > startable then startable = startable .. ' ' .. share_of_most_frequent(call, queue) end
  snapshot[SNAPSHOT.startable] = startable or starting and '' or nil
  snapshot[SNAPSHOT.starting] = starting or nil
  return snapshot
end

function Snapshot.of(call, queue)
  local q = Snapshot.read(call, queue)
  local waiting, scheduled = redis.call('ZCARD', K.waiting(call, queue)), redis.call('ZCARD', K.scheduled(call, queue))
  local keyed = q[12]
  return Snapshot.with(call, queue, q, waiting, scheduled, keyed and redis.call('ZCARD', K.startable(call, queue)) or nil)
end

return Snapshot
