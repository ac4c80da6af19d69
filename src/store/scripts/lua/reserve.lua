-- Takes the first waiting tasks of a queue for a worker, each under a lease and a fence.
-- The same reservation sent again is answered with the same tasks, so that a lost reply loses no work.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
-- ARGV[2]  worker: the id of the worker process
-- ARGV[3]  lane: of the worker's requests for this queue, "0" or "1": one of each lane may be underway at a time; or, of a request
--          that is remembered by itself, "holder generation after" (see lib/request.lua)
-- ARGV[4]  reservation: unique to this request of the worker
-- ARGV[5]  count: the most tasks to take
-- ARGV[6]  lease: ms
-- ARGV[7]  rate: most tasks that may start within the span, over all workers; 0 for any number
-- ARGV[8]  span: ms
-- ARGV[9]  suspect lease: ms for which the worker has a task that has lost a worker before, until it says by begin.lua that the
--          handler begins; 0 when it does not say so
-- ARGV[10…] tasks that the process has finished meanwhile, as complete.lua takes them: they cost no call of their own
--
-- Returns {tasks, waiting, pause, verdicts}: of each task "id fence attempt lost created" and its input, in one list; "lost" is
-- "lost/unbegun" where it was handed out in vain since its last loss, so often. Where it has one of
-- media type, query, caller and trace the first ends in " +" and these four come behind, "" for what it does not have. Then how many
-- still wait (in a keyed queue, how many that may start), -1 while the queue is paused; for how many ms the rate allows no more; what complete.lua returns; and of a request
-- that is remembered by itself "generation given replayed".
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run
--#include freed keyed when called
--#include rate
--#include input when called
--#include large
--#include result
--#include notify when called
--#include finished
--#include follow settle extra request fair when called
--#include forecast when called
--#include service
--#include complete
--#include lane

-- Most bytes of an input that travels in the answer.
local INSIDE = 16384
-- Of how many tasks at most it is decided anew in one call whether they may start.
local REKEYED = 200

local queue, worker, reservation = ARGV[1], ARGV[2], ARGV[4]
local count, lease, suspect_lease = tonumber(ARGV[5]), ARGV[6], ARGV[9] ~= '0' and ARGV[9]
local line, leases, counters = K.waiting(queue), K.leases(queue), K.queue(queue)
-- Either its lane is given, or it is remembered by itself.
local lane, holder, generation, after = lane_field(worker, ARGV[3])
if not lane then holder, generation, after = string.match(ARGV[3], '^(%S+) (%d+) (%d+)$') end

-- The queue's hash is read and written once.
local verdicts, q, writes = complete_groups(ARGV, 10, queue, lane or Q.paused)
if not q then
  q, writes = redis.call('HMGET', counters, Q.paused, Q.fence, Q.keyed, Q.rekey, lane or Q.paused), {}
end
local function write(field, value)
  local length = #writes
  writes[length + 1], writes[length + 2] = field, value
end

-- Tables have room for one task: one that grows costs more.
local tasks, told = { nil, nil }, 0
-- The fields that few tasks have, of one that has none.
local NONE = {}
-- Hands out a task.
local function hand(id, fence, attempts, lost, created, input, media, query, caller, trace)
  if lost and suspect_lease then
    local unbegun = redis.call('HGET', K.task(id), F.unbegunReleases)
    if unbegun then lost = lost .. '/' .. unbegun end
  end
  local more = media or query or caller or trace
  tasks[told + 1] = id .. ' ' .. fence .. ' ' .. attempts .. ' ' .. (lost or '0') .. ' ' .. (created or '0') .. (more and ' +' or '')
  tasks[told + 2] = input or inline_input(K.task(id)) or value_or_length(K.input(id), INSIDE)
  told = told + 2
  if more then
    tasks[told + 1], tasks[told + 2], tasks[told + 3], tasks[told + 4] = media or '', query or '', caller or '', trace or ''
    told = told + 4
  end
end

local part
local function answer(waiting, pause)
  if #writes > 0 then redis.call('HSET', counters, unpack(writes)) end
  if of_notify then send_notices() end
  -- Whoever asks need not be told of what it has taken, or is told of in the answer.
  if of_freed_keyed then tell_freed(waiting == 0 and queue) end
  return { tasks, waiting, pause == 0 and 0 or whole(pause), verdicts, part or '' }
end

-- What this reservation was given before: its first fence, and its ids.
local first_again, ids_again
if holder then
  local given
  generation, given, first_again, ids_again = recall(queue, worker, reservation, holder, tonumber(generation), tonumber(after), lease)
  if given then part = whole(generation) .. ' ' .. given .. ' 1' end
else
  local last = q[5]
  if last and string.find(last, reservation .. ' ', 1, true) == 1 then
    first_again, ids_again = string.match(last, '^(%d+)(.*)$', #reservation + 2)
  end
end
if ids_again then
  -- It is handed out once more as far as it is still held. The fences of one reservation follow one another.
  local nth = tonumber(first_again)
  for id in string.gmatch(ids_again, '%S+') do
    local state, run, unbegun, input, lost, created, media, query, caller, trace =
      unpack(redis.call('HMGET', K.task(id), F.state, F.run, F.unbegun, F.input, F.lost, F.created, F.mediaType, F.query, F.caller, F.trace))
    local fence, _, attempts = run_of(run)
    -- One that has been lost and taken once more meanwhile, be it by this worker in another lane, has another fence.
    if state == S.running and fence == whole(nth) then
      hand(id, fence, attempts, lost, created, input, media, query, caller, trace)
      -- The worker counts the lease from this answer; much of the first one has gone while the reply was lost.
      redis.call('ZADD', leases, whole(now + (unbegun == fence and suspect_lease or lease)), id)
    end
    nth = nth + 1
  end
  return answer(redis.call('ZCARD', line), 0)
end

-- The fences of one reservation follow one another.
local function remember(first, ids)
  if holder then
    part = whole(generation) .. ' ' .. #ids .. ' 0'
    note_part(queue, worker, reservation, holder, generation, first or 0, ids, lease)
  elseif #ids > 0 then
    write(lane, reservation .. ' ' .. whole(first) .. ' ' .. table.concat(ids, ' '))
  end
end

if q[1] == '1' then
  remember(nil, {})
  return answer(-1, 0)
end
local keyed = q[3] and key_limit(queue, q[3])
local startable = keyed and K.startable(queue) or line
local marks = keyed and marks_starts(queue)
-- Before which score it is decided who may start, if not of all.
local undecided
if q[4] then
  -- Who may start has yet to be decided of the tasks in line from a score on, as the limit for each key has changed: of some of them in each call.
  local some = redis.call('ZRANGEBYSCORE', line, q[4], '+inf', 'WITHSCORES', 'LIMIT', 0, REKEYED)
  for n = 1, #some, 2 do
    join_key(queue, some[n], redis.call('HGET', K.task(some[n]), F.key), some[n + 1], true)
  end
  if #some == 2 * REKEYED then
    local last = some[#some]
    undecided = '(' .. last
    redis.call('HSET', counters, Q.rekey, (last == q[4] and '(' or '') .. last)
  else
    redis.call('HDEL', counters, Q.rekey)
  end
end

-- What completions have freed may start too.
if of_freed_keyed then open_freed() end
local pause, rate, span, starts = 0
if ARGV[7] ~= '0' then
  rate, span, starts = tonumber(ARGV[7]), tonumber(ARGV[8]), K.starts(queue)
  -- The times of the last starts, as many as the rate allows in a span: one more may start when the oldest of them is a span
  -- ago. This holds for every span, where counting by the clock would let twice as many through around its edges.
  if tonumber(redis.call('LINDEX', starts, 0) or 0) > now then
    -- The clock was set back: what has started counts from now on, and not for as long as the clock was ahead.
    local times = redis.call('LRANGE', starts, 0, rate - 1)
    redis.call('DEL', starts)
    for _, time in ipairs(times) do redis.call('RPUSH', starts, whole(math.min(tonumber(time), now))) end
    redis.call('PEXPIRE', starts, whole(span))
  end
  local function until_free(n)
    local nth = redis.call('LINDEX', starts, rate - n)
    return nth and math.max(0, tonumber(nth) + span - now) or 0
  end
  local allowed = math.min(count, rate)
  while allowed > 0 and until_free(allowed) > 0 do allowed = allowed - 1 end
  if allowed < count then pause = until_free(allowed + 1) end
  count = allowed
  if count == 0 then
    remember(nil, {})
    return answer(redis.call('ZCARD', startable), pause)
  end
end

local fence, first_fence = tonumber(q[2] or 0), nil
local ids, leased, taken = { nil }, { nil, nil }, 0
local expiry, worker_end = whole(now + lease), end_of_worker(worker)
local entries = {}
if undecided and count > 0 then
  entries = redis.call('ZRANGEBYSCORE', startable, '-inf', undecided, 'WITHSCORES', 'LIMIT', 0, count)
  for n = 1, #entries, 2 do redis.call('ZREM', startable, entries[n]) end
elseif count > 0 then
  entries = redis.call('ZPOPMIN', startable, count)
end
if keyed and #entries > 0 then
  local started = {}
  for n = 1, #entries, 2 do started[#started + 1] = entries[n] end
  redis.call('ZREM', line, unpack(started))
end
for n = 1, #entries, 2 do
  local id, score = entries[n], entries[n + 1]
  local key = K.task(id)
  local known = redis.call('HMGET', key, F.state, F.input, F.created, F.extra, F.listeners)
  -- An entry whose task is gone or is not waiting (memory evicted, a key deleted by hand) must not block the line.
  if known[1] == S.waiting then
    fence = next_fence(fence)
    taken = taken + 1
    if taken == 1 then first_fence = fence end
    local fence_text, attempts, extra, until_when = whole(fence), '1', NONE, expiry
    if known[4] and known[4] ~= '1' then
      -- Nothing of it is rare but its key.
      if marks then mark_holder(queue, id, known[4]) end
    elseif known[4] then
      extra = redis.call('HMGET', key, F.lost, F.mediaType, F.query, F.caller, F.run, F.key, F.trace)
      local _, _, before = run_of(extra[5])
      if before then attempts = whole(before + 1) end
      if marks and extra[6] then mark_holder(queue, id, extra[6]) end
    end
    redis.call('HSET', key, F.state, S.running, F.run, new_run(fence, fence_text, attempts, score, worker_end))
    -- Whoever renews over HTTP need not say again for how long.
    if holder then redis.call('HSET', key, F.lease, lease) end
    if extra[1] and suspect_lease then
      redis.call('HSET', key, F.unbegun, fence_text)
      until_when = whole(now + suspect_lease)
    end
    ids[taken], leased[2 * taken - 1], leased[2 * taken] = id, until_when, id
    if known[5] then notify(id, S.running, known[5]) end
    hand(id, fence_text, attempts, extra[1], known[3], known[2], extra[2], extra[3], extra[4], extra[7])
  end
end
-- Only scores of fair lines have a fraction.
if #entries > 0 and (entries[2] % 1 ~= 0 or entries[#entries] % 1 ~= 0) then pass_fair(queue, entries) end
if taken > 0 then
  redis.call('ZADD', leases, unpack(leased))
  write(Q.fence, whole(fence))
  if rate then
    for _ = 1, #ids do redis.call('LPUSH', starts, now_text) end
    redis.call('LTRIM', starts, 0, rate - 1)
    redis.call('PEXPIRE', starts, whole(span))
  end
end
remember(first_fence, ids)
if taken < #entries / 2 then redis.call('HINCRBY', counters, Q.healed, #entries / 2 - taken) end
-- Fewer than asked for were all.
local left = #entries < 2 * count and 0 or redis.call('ZCARD', startable)
return answer(undecided and math.max(1, left) or left, pause)
