-- Groups: opens, closes and cancels them, and reads them with their counts, and their members.

local whole = Number.whole
local OPENED, ONE, CANCELED, MEMBERS = Layout.openGroup.args, Layout.group.item, Layout.cancelGroup.args, Layout.members.args
local GROUP, ANSWER, PAGE = Layout.group.group, Layout.group.answer, Layout.members.answer

-- An existing group accepts another batch only from its caller, for its queue, and while it is open.
local function join(call, args, id, key)
  local queue, caller, webhook = unpack(redis.call('HMGET', key, G.queue, G.caller, G.webhook))
  if caller ~= args[OPENED.caller] then return 'foreign' end
  if queue ~= args[OPENED.queue] or not Group.is_open(call, id, caller) then return 'closed' end
  if not webhook and args[OPENED.webhook] ~= '' then redis.call('HSET', key, G.webhook, args[OPENED.webhook]) end
  return 'open'
end

-- Opens a group, or adds to one. Returns a verdict and when the group was created, ms: "open", "closed" (it accepts no more members, or
-- belongs to another queue), "foreign" (another caller's), "webhooks-full" (it has a webhook, and too many deliveries wait).
register('openGroup', {}, function(keys, args)
  local call, id = Call.new(keys), args[OPENED.id]
  local key = K.group(call, id)
  if redis.call('EXISTS', key) == 1 then return { join(call, args, id, key), redis.call('HGET', key, G.created) } end
  local webhook = args[OPENED.webhook]
  if webhook ~= '' then
    local line, later = K.waiting(call, C.webhookQueue), K.scheduled(call, C.webhookQueue)
    if redis.call('ZCARD', line) + redis.call('ZCARD', later) >= tonumber(args[OPENED.limit]) then return { 'webhooks-full', '0' } end
  end
  redis.call(
    'HSET', key, G.queue, args[OPENED.queue], G.caller, args[OPENED.caller], G.created, call.now_text, G.openMs, args[OPENED.openMs],
    G.keepMs, args[OPENED.keepMs], G.tombstoneMs, args[OPENED.tombstoneMs]
  )
  if webhook ~= '' then redis.call('HSET', key, G.webhook, webhook) end
  Group.is_open(call, id, args[OPENED.caller])
  return { 'open', call.now_text }
end)

-- Closes a group: it accepts no more members. Returns nothing.
register('closeGroup', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  Group.close(call, args[Layout.closeGroup.args.id])
end)

-- Closes a group, and cancels some of the members that have not ended; a tick goes on if nobody else does. Returns "more" if there may be
-- others, "canceled" if not, "ended" (it had ended before), or "unknown".
register('cancelGroup', { 'allow-oom' }, function(keys, args)
  local call, id, max = Call.new(keys), args[CANCELED.id], tonumber(args[CANCELED.max])
  local key = K.group(call, id)
  local queue, canceled, finished = unpack(redis.call('HMGET', key, G.queue, G.canceled, G.finished))
  if not queue then return 'unknown' end
  if finished then return canceled and 'canceled' or 'ended' end
  Group.begin_cancel(call, id, C.cancelByCaller)
  local looked = Settle.cancel_members(call, id, max)
  Group.close(call, id)
  Settle.close(call)
  return looked == max and 'more' or 'canceled'
end)

-- The facts of a group, separated by spaces, "" for each that it does not have; how many members are in each state; and of the last one in
-- line the place, the score for other partitions and the turn in a keyed line.
local function look_at(call, args, at, seen)
  local id = args[at + ONE.id]
  local queue, caller, created, closed, canceled, finished, expires = unpack(redis.call(
    'HMGET', K.group(call, id), G.queue, G.caller, G.created, G.closed, G.canceled, G.finished, G.expires
  ))
  if not queue then return '' end
  if not seen.queues[queue] then
    seen.queues[queue] = true
    seen.snapshots[#seen.snapshots + 1] = Snapshot.of(call, queue)
  end
  local found = { nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }
  found[GROUP.queue], found[GROUP.caller], found[GROUP.created], found[GROUP.closed] = queue, caller, created, closed or ''
  found[GROUP.canceled], found[GROUP.finished], found[GROUP.expires] = canceled or '', finished or '', expires or ''
  found[GROUP.counts] = table.concat(Group.counts(call, id), ' ')
  local last, score = Group.last_in_line(call, id)
  local rank = last and redis.call('ZRANK', K.waiting(call, queue), last)
  local turn = ''
  if rank and Keyed.limit(call, queue) then
    turn = ' ' .. Keyed.turn(call, queue, last, redis.call('HGET', K.task(call, last), F.key), score)
  end
  found[GROUP.last] = rank and whole(rank) .. ' ' .. Fair.told_score(call, queue, score) .. turn or ''
  local due, begun = Group.latest_due(call, id), Group.latest_begun(call, id)
  found[GROUP.latest] = (due and whole(due) or '') .. ' ' .. (begun and whole(begun) or '')
  return found
end

-- Reads groups, as of one instant. Returns a snapshot of each queue and the facts of each group, "" for an unknown one.
register('group', { 'no-writes' }, function(keys, args)
  local call, seen = Call.new(keys), { queues = {}, snapshots = {} }
  local groups = Call.each(call, args, Layout.group, look_at, seen)
  return { [ANSWER.nowMs] = call.now_text, [ANSWER.snapshots] = seen.snapshots, [ANSWER.groups] = groups }
end)

-- A page of the members of a group, in the order in which they joined. Returns how many there are, and of each in the page "number line id",
-- with the number of its state, see group.lua; "-" for one that the store has lost.
register('members', { 'no-writes' }, function(keys, args)
  local call, id, from, count = Call.new(keys), args[MEMBERS.id], tonumber(args[MEMBERS.from]), tonumber(args[MEMBERS.count])
  local key, states, entries = K.members(call, id), K.memberStates(call, id), {}
  for n, entry in ipairs(redis.call('LRANGE', key, from, from + count - 1)) do
    local score = redis.call('ZSCORE', states, string.match(entry, ' (.*)$'))
    entries[n] = (score and whole(Group.number(score)) or '-') .. ' ' .. entry
  end
  return { [PAGE.total] = redis.call('LLEN', key), [PAGE.entries] = entries }
end)
