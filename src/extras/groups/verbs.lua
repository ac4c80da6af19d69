-- Groups: opens, closes and cancels them, and reads them with their counts, and their members.

local whole = Number.whole
local function number(stored)
  return tonumber(stored or nil) or cjson.null
end

-- An existing group accepts another batch only from its caller, for its queue, and while it is open.
local function join(call, asked, key)
  local id = asked.id
  local queue, caller, webhook = unpack(redis.call('HMGET', key, G.queue, G.caller, G.webhook))
  if caller ~= asked.caller then return 'foreign' end
  if queue ~= asked.queue then return 'elsewhere' end
  if not Group.is_open(call, id, caller) then return 'closed' end
  if not webhook and asked.webhook then redis.call('HSET', key, G.webhook, asked.webhook) end
  if asked.presenceMs then redis.call('HSETNX', key, G.presenceMs, whole(asked.presenceMs)) end
  Group.attend(call, id)
  return 'open'
end

-- Opens a group, or adds to one. Returns a verdict, when the group was created, ms, and the number of the first line of the batch: "new"
-- (it has no members yet), "open", "closed" (it accepts no more members), "elsewhere" (it belongs to another queue), "foreign" (another
-- caller's), "webhooks-full" (it has a webhook, and too many deliveries wait).
register('openGroup', {}, function(call, asked)
  local id, webhook = asked.id, asked.webhook
  local key = K.group(call, id)
  if redis.call('EXISTS', key) == 1 then
    local verdict, empty = join(call, asked, key), Group.is_empty(call, id)
    if verdict == 'open' or not empty then
      local created = tonumber(redis.call('HGET', key, G.created))
      return { verdict = empty and 'new' or verdict, createdMs = created, firstLine = Group.next_line(call, id) }
    end
    Group.close(call, id)
  end
  if webhook then
    local webhooks = Call.own_queue(call, C.webhookQueue)
    local line, later = K.waiting(call, webhooks), K.scheduled(call, webhooks)
    if redis.call('ZCARD', line) + redis.call('ZCARD', later) >= asked.limit then
      return { verdict = 'webhooks-full', createdMs = 0, firstLine = 0 }
    end
  end
  redis.call(
    'HSET', key, G.queue, asked.queue, G.caller, asked.caller, G.created, call.now_text, G.openMs, whole(asked.openMs),
    G.keepMs, whole(asked.keepMs), G.tombstoneMs, whole(asked.tombstoneMs)
  )
  if webhook then redis.call('HSET', key, G.webhook, webhook) end
  if asked.presenceMs then redis.call('HSET', key, G.presenceMs, whole(asked.presenceMs)) end
  Group.attend(call, id)
  Group.is_open(call, id, asked.caller)
  return { verdict = 'new', createdMs = call.now, firstLine = 0 }
end)

-- A batch has ended, after which the lines of the group are so many. Closes the group if asked to. Returns nothing.
register('endBatch', { 'allow-oom' }, function(call, asked)
  local id, lines = asked.id, asked.lines
  if not Group.is_empty(call, id) and lines > Group.next_line(call, id) then redis.call('HSET', K.group(call, id), G.lines, whole(lines)) end
  if asked.closes then Group.close(call, id) end
  Notices.send(call)
end)

-- Closes a group, and cancels some of the members that have not ended; a tick goes on if nobody else does. Returns "more" if there may be
-- others, "canceled" if not, "ended" (it had ended before), or "unknown".
register('cancelGroup', { 'allow-oom' }, function(call, asked)
  local id, max = asked.id, asked.max
  local key = K.group(call, id)
  local queue, canceled, finished = unpack(redis.call('HMGET', key, G.queue, G.canceled, G.finished))
  if not queue or Group.is_empty(call, id) then return 'unknown' end
  if finished then return canceled and 'canceled' or 'ended' end
  Group.begin_cancel(call, id, C.cancelByCaller)
  local looked = Settle.cancel_members(call, id, max)
  Settle.close(call)
  return looked == max and 'more' or 'canceled'
end)

-- The facts of a group; its counts in the order of the numbers of states, see group/group.lua; and of the last member in line the place, and in
-- a keyed line the turn. Nothing for an unknown group.
local function look_at(call, id, seen)
  local queue, caller, created, closed, canceled, finished, expires, presence = unpack(redis.call(
    'HMGET', K.group(call, id), G.queue, G.caller, G.created, G.closed, G.canceled, G.finished, G.expires, G.presenceMs
  ))
  if not queue or Group.is_empty(call, id) then return cjson.null end
  if not seen.queues[queue] then
    seen.queues[queue] = true
    seen.snapshots[#seen.snapshots + 1] = Snapshot.of(call, queue)
  end
  local last, score = Group.last_in_line(call, id)
  local rank = last and redis.call('ZRANK', K.waiting(call, queue), last)
  local turn = ''
  if rank and Keyed.limit(call, queue) then
    turn = Keyed.turn(call, queue, last, redis.call('HGET', K.task(call, last), F.key), score)
  end
  return {
    queue = queue,
    caller = caller,
    createdMs = tonumber(created),
    closedMs = number(closed),
    canceledMs = number(canceled),
    finishedMs = number(finished),
    expiresMs = number(expires),
    counts = Group.counts(call, id),
    index = number(rank),
    turn = turn,
    dueMs = number(Group.latest_due(call, id)),
    begunMs = number(Group.latest_begun(call, id)),
    presenceMs = number(presence),
    presentUntilMs = number(presence and redis.call('ZSCORE', K.deadlines(call, queue), Deadlines.entry_of_group(id))),
  }
end

-- Reads groups, as of one instant, and adds a process, if there is one, to the listeners in their records, so that it gets notices from now
-- on. Returns the groups, and beside them a snapshot of each queue.
local function look_at_all(call, asked)
  local seen = { queues = {}, snapshots = {} }
  for _, id in ipairs(asked.process and asked.items or {}) do
    if not Group.is_empty(call, id) then Notices.listen(K.group(call, id), asked.process) end
  end
  return { nowMs = call.now, groups = Call.each(call, asked.items, look_at, seen) }, seen.snapshots
end

-- Reads groups. Returns the answer of look_at_all.
register('group', { 'no-writes' }, look_at_all)

-- The same, and the process listens. Returns the same.
register('watchGroups', { 'allow-oom' }, look_at_all)

-- Some members of a group, in the order in which they joined, or in which they ended. Returns of each its id, its line, the number of its
-- state, see group/group.lua, nothing if the store has lost it; and which one of those that have ended it was.
register('members', { 'no-writes' }, function(call, asked)
  local id, entries = asked.id, {}
  local members, states, ends = K.members(call, id), K.memberStates(call, id), K.memberEnds(call, id)
  local index = asked.by == 'end' and ends or members
  local some = redis.call('ZRANGEBYSCORE', index, asked.from, '+inf', 'LIMIT', 0, asked.count)
  for n, of in ipairs(some) do
    local score = redis.call('ZSCORE', states, of)
    entries[n] = {
      id = of,
      line = tonumber(redis.call('ZSCORE', members, of) or 0),
      state = score and Group.number(score) or cjson.null,
      ["end"] = number(redis.call('ZSCORE', ends, of)),
    }
  end
  return entries
end)

-- Somebody reads the results of a group as they end. Returns how many members had ended when that was first done: these are read in the
-- order in which they joined, the others in the order in which they end; nothing for an unknown group.
register('followGroup', { 'allow-oom' }, function(call, asked)
  local id = asked.id
  local key = K.group(call, id)
  if redis.call('EXISTS', key) == 0 then return nil end
  redis.call('HSETNX', key, G.followed, whole(Group.ends(call, id)))
  return tonumber(redis.call('HGET', key, G.followed))
end)
