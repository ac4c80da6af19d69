-- Checks tasks against the indexes of their queues, and heals what disagrees where that is asked for: a task belongs in exactly
-- the one index that its state names, and an entry belongs to a task; a key of a fair line is in both of its tables; and in a keyed line
-- those may start that lib/keyed.lua says.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  of: what the keys of tasks begin with, or those of the index whose entries are checked against their
--          tasks, or of the table of a fair line whose keys are checked against the other one, or of the
--          line of a key
-- ARGV[2]  queue: of the index, of a key's line with its key; "" for tasks
-- ARGV[3]  heal: "1" to make them agree, "0" only to look
-- ARGV[4…] id: of a task or entry each; entries that have left since they were read are passed over
--
-- Returns the ids of those that disagreed.
local base = KEYS[1]
--#include clock
--#include run
--#include freed
--#include keyed
--#include fair
--#include share

local HOME = { [S.waiting] = P.waiting, [S.scheduled] = P.scheduled, [S.retrying] = P.scheduled, [S.running] = P.leases }
local of, index_queue, heal = ARGV[1], ARGV[2], ARGV[3] == '1'
local wrong = {}

-- Puts a task into the index that it is missing from.
local function enter(id, queue, index, state, run, priority, share, of_key)
  local class = tonumber(priority or C.defaultPriority)
  if index == P.waiting then
    -- Its place is lost with its entry, unless it was noted: it joins at the end.
    local hlc = tick_hlc(tonumber(redis.call('HGET', K.queue(queue), Q.hlc) or 0))
    redis.call('HSET', K.queue(queue), Q.hlc, whole(hlc))
    local score = whole(class * CLASS + hlc)
    if share then
      score = rejoin_fair(queue, id, class, share)
    else
      redis.call('ZADD', K.waiting(queue), score, id)
    end
    rejoin_key(queue, id, of_key, score, whole(hlc))
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

-- Whether reserve.lua has yet to decide whether a task may start that waits at a score: the limit of its queue has changed.
local function is_undecided(queue, score)
  local from = redis.call('HGET', K.queue(queue), Q.rekey)
  if not from then return false end
  local after = string.match(from, '^%((.+)$')
  if after then return score > tonumber(after) end
  return from == '-inf' or score >= tonumber(from)
end

-- Whether a task stands where it should in the line of its key, and may start where it should.
local function agrees_with_key(id, queue, state, of_key, run)
  open_freed()
  local limit = key_limit(queue)
  if not limit then return true end
  local arrival, name = parts_of_key(of_key)
  local line, agrees = key_line(queue, name), true
  local stands = name ~= '' and redis.call('ZSCORE', line, id)
  -- One that waits for another attempt holds its key or not by the limit under which the last one ended: only that it was changed is known.
  if name ~= '' and (state == S.running or (state == S.retrying and limit == 1 and not changed[queue])) then
    local _, _, _, place = run_of(run)
    agrees = is_holder(queue, id, of_key, tonumber(place) or 0)
    if heal and not agrees then
      mark_holder(queue, id, of_key)
      local pushed = redis.call('ZRANGE', line, limit, limit)
      if pushed[1] then redis.call('ZREM', K.startable(queue), pushed[1]) end
    end
  elseif name ~= '' and state == S.scheduled then
    agrees = not stands
    if heal and stands then leave_key_line(queue, id, name) end
  elseif state == S.waiting then
    local score, found = redis.call('ZSCORE', K.waiting(queue), id), redis.call('ZSCORE', K.startable(queue), id)
    if is_undecided(queue, tonumber(score)) then return true end
    if stands and tonumber(stands) >= 0 and tonumber(stands) ~= place_by_arrival(arrival, tonumber(score)) then
      if heal then redis.call('ZREM', line, id) end
      stands = false
    end
    local starts = name == '' or (stands and redis.call('ZRANK', line, id) < limit)
    agrees = (name == '' or stands) and (starts and score or false) == found
    if heal and not agrees then join_key(queue, id, of_key, score, true) end
  end
  return agrees
end

local function check_task(id)
  local queue, state, run, priority, deadline, cancel, share, of_key =
    unpack(redis.call('HMGET', K.task(id), F.queue, F.state, F.run, F.priority, F.deadline, F.cancel, F.share, F.key))
  if not queue or not state then return end
  local home, disagrees = HOME[state], false
  for _, index in ipairs({ P.waiting, P.scheduled, P.leases, P.dead }) do
    local there = redis.call('ZSCORE', base .. index .. queue, id)
    if index == home and not there then
      disagrees = true
      if heal then enter(id, queue, index, state, run, priority, share, of_key) end
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
  if home and not disagrees then disagrees = not agrees_with_key(id, queue, state, of_key or NO_KEY, run) end
  if disagrees then wrong[#wrong + 1] = id end
end

-- The index of the entries to be checked.
local index = base .. of .. index_queue

local function check_entry(id)
  if not redis.call('ZSCORE', index, id) then return end
  local queue, state = unpack(redis.call('HMGET', K.task(id), F.queue, F.state))
  local belongs = queue == index_queue and (HOME[state] == of or (of == P.dead and state == S.failed))
  if not belongs then
    if heal then redis.call('ZREM', index, id) end
    wrong[#wrong + 1] = id
  end
end

-- One that may start waits, and one in the line of a key waits for it or holds it; where it is and how is checked with its task.
local function check_start(id)
  if not redis.call('ZSCORE', index, id) then return end
  local queue, state = unpack(redis.call('HMGET', K.task(id), F.queue, F.state))
  if queue == index_queue and state == S.waiting then return end
  if heal then redis.call('ZREM', index, id) end
  wrong[#wrong + 1] = id
end

local function check_member(id)
  if not redis.call('ZSCORE', index, id) then return end
  local of_queue, name = string.match(index_queue, '^(%S+) (.*)$')
  local queue, state, of_key = unpack(redis.call('HMGET', K.task(id), F.queue, F.state, F.key))
  local belongs = queue == of_queue and of_key and HOME[state] and state ~= S.scheduled
  if belongs and select(2, parts_of_key(of_key)) == name then return end
  if heal then leave_key_line(of_queue, id, name) end
  wrong[#wrong + 1] = id
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
if of == P.startable then check = check_start elseif of == P.keyLine then check = check_member end
if of == P.task then check = check_task elseif of == P.shares or of == P.shareEnds then check = check_share end
for n = 4, #ARGV do check(ARGV[n]) end
tell_freed()
return wrong
