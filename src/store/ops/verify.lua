-- Checks tasks against the indexes of their queues, and repairs disagreements if asked to: a task belongs in exactly
-- the one index that its state names, and an entry belongs to a task; a line key of a fair line is in both of its tables; for keyed
-- lines the invariant of keyed.lua holds; and a group has the state and the place of each member.

local whole = Number.whole
-- The index of each state that has one.
local HOME = { [S.waiting] = P.waiting, [S.scheduled] = P.scheduled, [S.retrying] = P.scheduled, [S.running] = P.leases }
local INDEXES = { P.waiting, P.scheduled, P.leases, P.dead }

-- Puts a task into another index from which it is missing, due now: a lease is reclaimed, and a task of unknown time does not wait longer.
local function enter_index(call, id, queue, class, state, run)
  if state == S.running then
    local end_of_class = whole(class * C.classSpan + Call.next_hlc(call, 0))
    local fence, late, attempts, place, worker = Run.readable_parts(call, run, end_of_class)
    -- An entry of the store was lost, not a worker, so this is a release.
    redis.call('HSET', K.task(call, id), F.run, Run.text(fence, late, attempts, place, worker), F.unbegun, fence, F.extra, '1')
  end
  local turn = state == S.running and redis.call('HGET', K.task(call, id), F.turn)
  local at = turn and Turns.end_of_lease(Run.time_of_fence(Run.parts(run) or 0), tonumber(turn)) or call.now_text
  redis.call('ZADD', call.base .. HOME[state] .. queue, at, id)
end

-- Whether reserve.lua still has to decide if a task that waits at a score may start, since the limit of its queue has changed.
local function is_undecided(call, queue, score)
  local from = redis.call('HGET', K.queue(call, queue), Q.rekey)
  if not from then return false end
  local after = string.match(from, '^%((.+)$')
  if after then return score > tonumber(after) end
  return from == '-inf' or score >= tonumber(from)
end

-- Whether the invariant of keyed.lua holds for a task that has not ended.
local function agrees_with_key(call, heal, id, queue, state, of_key, holds)
  if not Keyed.limit(call, queue) then return true end
  Keyed.write(call)
  local arrival, name = Keyed.parts(of_key)
  local place, agrees = nil, true
  if state == S.running or holds then
    place = Keyed.held
  elseif state ~= S.waiting then
    place = Keyed.due_later(redis.call('ZSCORE', K.scheduled(call, queue), id) or 0)
  end
  if name ~= '' then
    local stands, right = Keyed.place(call, queue, id, name), tonumber(place or arrival)
    agrees = stands == right or (stands and Keyed.is_due_later(stands) and Keyed.is_due_later(right)) or false
  end
  local score = state == S.waiting and redis.call('ZSCORE', K.waiting(call, queue), id)
  if not (score and is_undecided(call, queue, tonumber(score))) then
    local found = redis.call('ZSCORE', K.startable(call, queue), id)
    agrees = agrees and found == (score and Keyed.is_among_first(call, queue, id, name) and score or false)
  end
  if heal and not agrees then Keyed.put(call, queue, id, of_key, place) end
  return agrees
end

-- The checks: each takes the partition's prefix `of`, the queue of an index, and an id; returns whether everything agrees.

local function check_task(call, heal, _, _, id)
  local queue, state, run, priority, deadline, presence, cancel, share, of_key, holds, group = unpack(redis.call(
    'HMGET', K.task(call, id), F.queue, F.state, F.run, F.priority, F.deadline, F.presenceMs, F.cancel, F.share, F.key, F.holds,
    F.group
  ))
  if not queue or not state then return true end
  local home, agrees, class = HOME[state], true, tonumber(priority or C.defaultPriority)
  for _, index in ipairs(INDEXES) do
    local key = call.base .. index .. queue
    local there = redis.call('ZSCORE', key, id)
    if index == home and not there then
      agrees = false
      if heal and state == S.waiting then
        -- Its place is lost with its entry.
        Line.join(call, queue, id, class, Line.next_arrival(call, queue), share, of_key)
      elseif heal then
        enter_index(call, id, queue, class, state, run)
      end
    elseif there and index ~= home and not (index == P.dead and state == S.failed) then
      agrees = false
      if heal then redis.call('ZREM', key, id) end
    end
  end
  -- For a running task with a requested cancel, it may already have been handled.
  if home and (deadline or presence) and not cancel and not redis.call('ZSCORE', K.deadlines(call, queue), id) then
    agrees = false
    if heal then Deadlines.enter(call, queue, id, deadline, presence) end
  end
  agrees = agrees and (not home or agrees_with_key(call, heal, id, queue, state, of_key, holds))
  -- Last, since it compares with all of these.
  return (not group or Group.agrees(call, heal, group, id)) and agrees
end

local function check_entry(call, heal, of, index_queue, id)
  local index = call.base .. of .. index_queue
  if not redis.call('ZSCORE', index, id) then return true end
  local queue, state = unpack(redis.call('HMGET', K.task(call, id), F.queue, F.state))
  local belongs = queue == index_queue and (HOME[state] == of or (of == P.dead and state == S.failed))
  if heal and not belongs then redis.call('ZREM', index, id) end
  return belongs
end

-- A task that may start waits, and a task in the line of a line key has not ended; its exact place is checked with the task.
local function check_start(call, heal, of, index_queue, id)
  local index = call.base .. of .. index_queue
  if not redis.call('ZSCORE', index, id) then return true end
  local queue, state = unpack(redis.call('HMGET', K.task(call, id), F.queue, F.state))
  local belongs = queue == index_queue and state == S.waiting
  if heal and not belongs then redis.call('ZREM', index, id) end
  return belongs
end

local function check_member(call, heal, of, index_queue, id)
  if not redis.call('ZSCORE', call.base .. of .. index_queue, id) then return true end
  local of_queue, name = string.match(index_queue, '^(%S+) (.*)$')
  local queue, state, of_key = unpack(redis.call('HMGET', K.task(call, id), F.queue, F.state, F.key))
  local belongs = queue == of_queue and of_key and HOME[state] and select(2, Keyed.parts(of_key)) == name
  if heal and not belongs then Keyed.free(call, of_queue, id, ' ' .. name) end
  return belongs
end

-- A member of a group: `queue` is the group.
local function check_group_member(call, heal, _, group, id)
  return Group.agrees(call, heal, group, id)
end

local function check_group(call, heal, _, _, group)
  return Group.is_kept(call, heal, group)
end

-- A line key without both entries counts as one that has not waited.
local function check_share(call, heal, _, queue, member)
  local shares, ends = K.shares(call, queue), K.shareEnds(call, queue)
  local kept, found = redis.call('HEXISTS', shares, member) == 1, redis.call('ZSCORE', ends, member)
  -- Without any entry it has been deleted in the meantime.
  if (kept and found) or (not kept and not found) then return true end
  if heal then
    redis.call('HDEL', shares, member)
    redis.call('ZREM', ends, member)
  end
  return false
end

local CHECKS = {
  [P.task] = check_task,
  [P.startable] = check_start,
  [P.keyLine] = check_member,
  [P.shares] = check_share,
  [P.shareEnds] = check_share,
  [P.memberStates] = check_group_member,
  [P.group] = check_group,
}

-- `of` is what the keys of tasks begin with, or those of the index whose entries are checked against their tasks, or of the table of a fair
-- line whose keys are checked against the other one, or of the line of a key. An entry that has left since it was read is skipped. Returns
-- the ids that disagreed.
register('verify', {}, function(call, asked)
  local of, queue, heal = asked.of, asked.queue, asked.heal
  local check, wrong = CHECKS[of] or check_entry, {}
  for _, id in ipairs(asked.ids) do
    if not check(call, heal, of, queue, id) then wrong[#wrong + 1] = id end
  end
  Keyed.close(call)
  return wrong
end)
