-- Checks tasks against the indexes of their queues, and heals what disagrees where that is asked for: a task belongs in exactly
-- the one index that its state names, and an entry belongs to a task; a key of a fair line is in both of its tables.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  of: what the keys of tasks begin with, or those of the index whose entries are checked against their
--          tasks, or of the table of a fair line whose keys are checked against the other one
-- ARGV[2]  queue: of the index; "" for tasks
-- ARGV[3]  heal: "1" to make them agree, "0" only to look
-- ARGV[4…] id: of a task or entry each
--
-- Returns the ids of those that disagreed.
local base = KEYS[1]
--#include clock
--#include run
--#include fair
--#include share

local HOME = { [S.waiting] = P.waiting, [S.scheduled] = P.scheduled, [S.retrying] = P.scheduled, [S.running] = P.leases }
local of, index_queue, heal = ARGV[1], ARGV[2], ARGV[3] == '1'
local wrong = {}

-- Puts a task into the index that it is missing from.
local function enter(id, queue, index, state, run, priority, share)
  local class = tonumber(priority or C.defaultPriority)
  if index == P.waiting then
    -- Its place is lost with its entry, unless it was noted: it joins at the end.
    local hlc = tick_hlc(tonumber(redis.call('HGET', K.queue(queue), Q.hlc) or 0))
    redis.call('HSET', K.queue(queue), Q.hlc, whole(hlc))
    if share then
      rejoin_fair(queue, id, class, share)
    else
      redis.call('ZADD', K.waiting(queue), whole(class * CLASS + hlc), id)
    end
    redis.call('PUBLISH', K.work(queue), '')
  else
    -- Due now: a lease is reclaimed, and a task of unknown time does not wait longer.
    if state == S.running then
      local fence, late, attempts, place, worker = readable_run(run, whole(class * CLASS + tick_hlc(0)))
      -- No worker was lost, but an entry of the store: that is a release.
      redis.call('HSET', K.task(id), F.run, run_text(fence, late, attempts, place, worker), F.unbegun, fence, F.extra, '1')
    end
    redis.call('ZADD', base .. index .. queue, now_text, id)
  end
end

local function check_task(id)
  local queue, state, run, priority, deadline, cancel, share =
    unpack(redis.call('HMGET', K.task(id), F.queue, F.state, F.run, F.priority, F.deadline, F.cancel, F.share))
  if not queue or not state then return end
  local home, disagrees = HOME[state], false
  for _, index in ipairs({ P.waiting, P.scheduled, P.leases, P.dead }) do
    local there = redis.call('ZSCORE', base .. index .. queue, id)
    if index == home and not there then
      disagrees = true
      if heal then enter(id, queue, index, state, run, priority, share) end
    elseif there and index ~= home and not (index == P.dead and state == S.failed) then
      disagrees = true
      if heal then redis.call('ZREM', base .. index .. queue, id) end
    end
  end
  -- A running task whose cancel is requested may have been canceled by its deadline already.
  if home and deadline and not cancel and not redis.call('ZSCORE', K.deadlines(queue), id) then
    disagrees = true
    if heal then redis.call('ZADD', K.deadlines(queue), deadline, id) end
  end
  if disagrees then wrong[#wrong + 1] = id end
end

local function check_entry(id)
  local queue, state = unpack(redis.call('HMGET', K.task(id), F.queue, F.state))
  local belongs = queue == index_queue and (HOME[state] == of or (of == P.dead and state == S.failed))
  if not belongs then
    if heal then redis.call('ZREM', base .. of .. index_queue, id) end
    wrong[#wrong + 1] = id
  end
end

-- Without both entries a key is as one that has not waited.
local function check_share(member)
  local kept, found = redis.call('HEXISTS', K.shares(index_queue), member) == 1, redis.call('ZSCORE', K.shareEnds(index_queue), member)
  if kept and found then return end
  -- It has been forgotten meanwhile.
  if not kept and not found then return end
  if heal then
    redis.call('HDEL', K.shares(index_queue), member)
    redis.call('ZREM', K.shareEnds(index_queue), member)
  end
  wrong[#wrong + 1] = member
end

local check = check_entry
if of == P.task then check = check_task elseif of == P.shares or of == P.shareEnds then check = check_share end
for n = 4, #ARGV do check(ARGV[n]) end
return wrong
