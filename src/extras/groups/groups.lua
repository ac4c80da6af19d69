-- Groups: opens, closes and cancels them, and reads them with their counts, and their members.

local whole = Number.whole
local OPENED, ENDED, ONE = Layout.openGroup.args, Layout.endBatch.args, Layout.group.item
local CANCELED, MEMBERS = Layout.cancelGroup.args, Layout.members.args
local GROUP, ANSWER = Layout.group.group, Layout.group.answer

-- An existing group accepts another batch only from its caller, for its queue, and while it is open.
local function join(call, args, id, key)
  local queue, caller, webhook = unpack(redis.call('HMGET', key, G.queue, G.caller, G.webhook))
  if caller ~= args[OPENED.caller] then return 'foreign' end
  if queue ~= args[OPENED.queue] then return 'elsewhere' end
  if not Group.is_open(call, id, caller) then return 'closed' end
  if not webhook and args[OPENED.webhook] ~= '' then redis.call('HSET', key, G.webhook, args[OPENED.webhook]) end
  if args[OPENED.presenceMs] ~= '' then redis.call('HSETNX', key, G.presenceMs, args[OPENED.presenceMs]) end
  Group.attend(call, id)
  return 'open'
end

-- Opens a group, or adds to one. Returns a verdict, when the group was created, ms, and the number of the first line of the batch: "new"
-- (it has no members yet), "open", "closed" (it accepts no more members), "elsewhere" (it belongs to another queue), "foreign" (another
-- caller's), "webhooks-full" (it has a webhook, and too many deliveries wait).
register('openGroup', {}, function(keys, args)
  local call, id = Call.new(keys), args[OPENED.id]
  local key = K.group(call, id)
  if redis.call('EXISTS', key) == 1 then
    local verdict, empty = join(call, args, id, key), Group.is_empty(call, id)
    if verdict == 'open' or not empty then
      return { empty and 'new' or verdict, redis.call('HGET', key, G.created), Group.next_line(call, id) }
    end
    Group.close(call, id)
  end
  local webhook = args[OPENED.webhook]
  if webhook ~= '' then
    local webhooks = Call.own_queue(call, C.webhookQueue)
    local line, later = K.waiting(call, webhooks), K.scheduled(call, webhooks)
    if redis.call('ZCARD', line) + redis.call('ZCARD', later) >= tonumber(args[OPENED.limit]) then return { 'webhooks-full', '0', 0 } end
  end
  redis.call(
    'HSET', key, G.queue, args[OPENED.queue], G.caller, args[OPENED.caller], G.created, call.now_text, G.openMs, args[OPENED.openMs],
    G.keepMs, args[OPENED.keepMs], G.tombstoneMs, args[OPENED.tombstoneMs]
  )
  if webhook ~= '' then redis.call('HSET', key, G.webhook, webhook) end
  if args[OPENED.presenceMs] ~= '' then redis.call('HSET', key, G.presenceMs, args[OPENED.presenceMs]) end
  Group.attend(call, id)
  Group.is_open(call, id, args[OPENED.caller])
  return { 'new', call.now_text, 0 }
end)

-- A batch has ended, after which the lines of the group are so many. Closes the group if asked to. Returns nothing.
register('endBatch', { 'allow-oom' }, function(keys, args)
  local call, id, lines = Call.new(keys), args[ENDED.id], tonumber(args[ENDED.lines])
  if not Group.is_empty(call, id) and lines > Group.next_line(call, id) then redis.call('HSET', K.group(call, id), G.lines, whole(lines)) end
  if args[ENDED.closes] == '1' then Group.close(call, id) end
  Notices.send(call)
end)

-- Closes a group, and cancels some of the members that have not ended; a tick goes on if nobody else does. Returns "more" if there may be
-- others, "canceled" if not, "ended" (it had ended before), or "unknown".
register('cancelGroup', { 'allow-oom' }, function(keys, args)
  local call, id, max = Call.new(keys), args[CANCELED.id], tonumber(args[CANCELED.max])
  local key = K.group(call, id)
  local queue, canceled, finished = unpack(redis.call('HMGET', key, G.queue, G.canceled, G.finished))
  if not queue or Group.is_empty(call, id) then return 'unknown' end
  if finished then return canceled and 'canceled' or 'ended' end
  Group.begin_cancel(call, id, C.cancelByCaller)
  local looked = Settle.cancel_members(call, id, max)
  Settle.close(call)
  return looked == max and 'more' or 'canceled'
end)

-- The facts of a group, separated by spaces, "" for each that it does not have; how many members are in each state; and of the last one in
-- line the place and the turn in a keyed line.
local function look_at(call, args, at, seen)
  local id = args[at + ONE.id]
  local queue, caller, created, closed, canceled, finished, expires, presence = unpack(redis.call(
    'HMGET', K.group(call, id), G.queue, G.caller, G.created, G.closed, G.canceled, G.finished, G.expires, G.presenceMs
  ))
  if not queue or Group.is_empty(call, id) then return '' end
  if not seen.queues[queue] then
    seen.queues[queue] = true
    seen.snapshots[#seen.snapshots + 1] = Snapshot.of(call, queue)
  end
  local found = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
  found[GROUP.queue], found[GROUP.caller], found[GROUP.created], found[GROUP.closed] = queue, caller, created, closed or ''
  found[GROUP.canceled], found[GROUP.finished], found[GROUP.expires] = canceled or '', finished or '', expires or ''
  found[GROUP.counts] = table.concat(Group.counts(call, id), ' ')
  local last, score = Group.last_in_line(call, id)
  local rank = last and redis.call('ZRANK', K.waiting(call, queue), last)
  local turn = ''
  if rank and Keyed.limit(call, queue) then
    turn = ' ' .. Keyed.turn(call, queue, last, redis.call('HGET', K.task(call, last), F.key), score)
  end
  found[GROUP.last] = rank and whole(rank) .. turn or ''
  local until_then = presence and redis.call('ZSCORE', K.deadlines(call, queue), Due.entry_of_group(id)) or ''
  found[GROUP.presence] = (presence or '') .. ' ' .. until_then
  local due, begun = Group.latest_due(call, id), Group.latest_begun(call, id)
  found[GROUP.latest] = (due and whole(due) or '') .. ' ' .. (begun and whole(begun) or '')
  return found
end

local function look_at_all(call, args, layout)
  local seen = { queues = {}, snapshots = {} }
  local groups = Call.each(call, args, layout, look_at, seen)
  return { [ANSWER.nowMs] = call.now_text, [ANSWER.snapshots] = seen.snapshots, [ANSWER.groups] = groups }
end

-- Reads groups, as of one instant. Returns a snapshot of each queue and the facts of each group, "" for an unknown one.
register('group', { 'no-writes' }, function(keys, args)
  return look_at_all(Call.new(keys), args, Layout.group)
end)

-- The same, and adds a process to the listeners in their records, so that it gets notices from now on. Returns the same.
register('watchGroups', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.watchGroups.args
  for n = 0, tonumber(args[ARGS.count]) - 1 do
    local id = args[ARGS.count + n * ONE.width + ONE.id]
    if not Group.is_empty(call, id) then Notices.listen(K.group(call, id), args[ARGS.process]) end
  end
  return look_at_all(call, args, Layout.watchGroups)
end)

-- Some members of a group, in the order in which they joined, or in which they ended. Returns of each "number line end id": the number of
-- its state, see lua/group.lua, "-" if the store has lost it; and which one of those that have ended it was, "-" if it has not.
register('members', { 'no-writes' }, function(keys, args)
  local call, id, entries = Call.untimed(keys), args[MEMBERS.id], {}
  local members, states, ends = K.members(call, id), K.memberStates(call, id), K.memberEnds(call, id)
  local index = args[MEMBERS.by] == 'end' and ends or members
  local some = redis.call('ZRANGEBYSCORE', index, args[MEMBERS.from], '+inf', 'LIMIT', 0, args[MEMBERS.count])
  for n, of in ipairs(some) do
    local score, line = redis.call('ZSCORE', states, of), redis.call('ZSCORE', members, of) or '0'
    entries[n] = (score and whole(Group.number(score)) or '-') .. ' ' .. line .. ' ' .. (redis.call('ZSCORE', ends, of) or '-') .. ' ' .. of
  end
  return entries
end)

-- Somebody reads the results of a group as they end. Returns how many members had ended when that was first done: these are read in the
-- order in which they joined, the others in the order in which they end; "" for an unknown group.
register('followGroup', { 'allow-oom' }, function(keys, args)
  local call, id = Call.new(keys), args[Layout.followGroup.args.id]
  local key = K.group(call, id)
  if redis.call('EXISTS', key) == 0 then return '' end
  redis.call('HSETNX', key, G.followed, whole(Group.ends(call, id)))
  return redis.call('HGET', key, G.followed)
end)
