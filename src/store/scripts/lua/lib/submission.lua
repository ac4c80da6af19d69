-- Submits the tasks of a group one by one: each may be there already, or have a place or a condition of its own. Needs clock, freed, keyed,
-- input, listen, fair, share, relative, and what submit.lua has.

-- How many stand before a newcomer of a class: behind everything of it and before all classes less urgent. Counted once.
--   line, entries  what is stored, and scores and ids of what is still to be put there
local function newcomer_index(counted, line, entries, class)
  if not counted[class] then
    local before = redis.call('ZCOUNT', line, '-inf', '(' .. whole((class + 1) * CLASS))
    for n = 1, #entries, 2 do
      if tonumber(entries[n]) < (class + 1) * CLASS then before = before + 1 end
    end
    counted[class] = before
  end
  return counted[class]
end

local function count_newcomer(counted, class)
  for other, before in pairs(counted) do
    if other >= class then counted[other] = before + 1 end
  end
end

-- Ends of tasks that wait to be told to webhooks; asked once, and only of submissions that have one.
local untold
local function untold_ends()
  if not untold then
    untold = redis.call('ZCARD', K.waiting(C.webhookQueue)) + redis.call('ZCARD', K.scheduled(C.webhookQueue))
  end
  return untold
end

local function join_line(queue, state)
  if not state.entries then return end
  if #state.entries > 0 then redis.call('ZADD', K.waiting(queue), unpack(state.entries)) end
  if #state.startable > 0 then redis.call('ZADD', K.startable(queue), unpack(state.startable)) end
  state.entries, state.startable = {}, {}
end

-- A submission brings the limit of its queue: where that has changed, who may start is decided anew by reserve.lua.
local function align_limit(queue, state, limit)
  local empty = state.waiting + state.scheduled == 0 and redis.call('EXISTS', K.leases(queue)) == 0
  -- Without keys, it becomes a plain line again when it has come to an end.
  if not limit and not empty then return end
  local stored = limit and stored_limit(queue, limit, empty)
  state.limit = key_limit(queue, stored)
  if not limit then
    redis.call('HDEL', K.queue(queue), Q.keyed, Q.rekey)
    redis.call('UNLINK', K.startable(queue))
  elseif state.waiting > 0 then
    redis.call('HSET', K.queue(queue), Q.keyed, stored, Q.rekey, '-inf')
  else
    redis.call('HSET', K.queue(queue), Q.keyed, stored)
  end
end

local function known_verdict(known, group, input, digest)
  if (known[5] or '') ~= group.caller then return 'foreign' end
  if known[1] ~= group.queue then return 'elsewhere' end
  local same = (known[3] or '') == group.media and (known[4] or '') == group.query
  if digest == '' then
    same = same and known[2] == input
  else
    same = same and known[6] == digest
  end
  return same and 'replay' or 'conflict'
end

-- The options of a group that has the defaults are looked at only here.
local function fill_defaults(group)
  if not group.options then
    group.delay, group.media, group.query, group.caller, group.webhook, group.undo = 0, '', '', '', '', ''
  end
end

-- Puts a field and its value behind the last of some; returns which is the last now.
local function put(fields, last, field, value)
  fields[last + 1], fields[last + 2] = field, value
  return last + 2
end

-- What all tasks of a group have in common, as fields and values: only what is not the default. And how many these are.
local function common_fields(group)
  fill_defaults(group)
  local fields, last = { F.queue, group.queue, F.state, group.delay > 0 and S.scheduled or S.waiting, F.created, now_text }, 6
  if group.media ~= '' then last = put(fields, last, F.mediaType, group.media) end
  if group.query ~= '' then last = put(fields, last, F.query, group.query) end
  if group.caller ~= '' then last = put(fields, last, F.caller, group.caller) end
  if group.class ~= C.defaultPriority then last = put(fields, last, F.priority, group.class) end
  if group.webhook ~= '' then last = put(fields, last, F.webhook, group.webhook) end
  if group.undo == '1' then last = put(fields, last, F.undo, '1') end
  if group.deadline then last = put(fields, last, F.deadline, whole(now + group.deadline)) end
  if group.options then last = put(fields, last, F.extra, '1') end
  return fields, last
end

-- Stores the nth task of a group. The rest: what it has of its own.
local function store(group, n, key, listener, share, before, arrival)
  if not group.fields then group.fields, group.common = common_fields(group) end
  local fields, last = group.fields, group.common
  local digest, trace = group.digests and ARGV[group.digests + n] or '', group.traces and ARGV[group.traces + n] or ''
  if digest == '' then
    last = put(fields, last, F.input, ARGV[group.inputs + n])
  else
    last = put(fields, last, F.digest, digest)
    last = put_input(fields, last, ARGV[group.ids + n], ARGV[group.inputs + n])
  end
  if listener then last = put(fields, last, F.listeners, listener) end
  -- The fraction says that it is to join a fair line.
  if group.delay > 0 then last = put(fields, last, F.place, whole(group.class * CLASS) .. (share and '.5' or '')) end
  if share then last = put(fields, last, F.share, share) end
  if before then last = put(fields, last, F.before, before) end
  if arrival then last = put(fields, last, F.key, arrival) end
  if trace ~= '' then last = put(fields, last, F.trace, trace) end
  if not group.options and (digest ~= '' or trace ~= '' or arrival) then
    last = put(fields, last, F.extra, (digest ~= '' or trace ~= '') and '1' or arrival)
  end
  if group.deadline then redis.call('ZADD', K.deadlines(group.queue), whole(now + group.deadline), ARGV[group.ids + n]) end
  redis.call('HSET', key, unpack(fields, 1, last))
end

local function submit_one(group, state, n)
  local queue, class, key, listener = group.queue, group.class, K.task(ARGV[group.ids + n]), listener_of(group, n)
  local id, input, digest = ARGV[group.ids + n], ARGV[group.inputs + n], group.digests and ARGV[group.digests + n] or ''
  local share = group.shares and ARGV[group.shares + n] ~= '' and ARGV[group.shares + n]
  local at_once, name = false, ''
  if group.keys and ARGV[group.keys + n] ~= '' then
    at_once, name = parts_of_key(ARGV[group.keys + n])
    at_once = tonumber(at_once)
  end

  -- Nearly always it is not there, which EXISTS says for less.
  if not group.dry and redis.call('EXISTS', key) == 1 then
    local known = redis.call('HMGET', key, F.queue, F.input, F.mediaType, F.query, F.caller, F.digest, F.state, F.created)
    -- It may be of this very call.
    for of_name, of_state in pairs(seen) do join_line(of_name, of_state) end
    local letter = known[7]
    -- The task is in another partition.
    if not letter and known[1] == queue and (known[5] or '') == group.caller then return 'moved    ' end
    local verdict = known_verdict(known, group, input, digest)
    if listener and verdict == 'replay' then listen(key, listener) end
    local rank = letter == S.waiting and redis.call('ZRANK', K.waiting(known[1]), id)
    local score = rank and redis.call('ZSCORE', K.waiting(known[1]), id)
    local index = rank and whole(rank) or (letter == S.running and '0' or '')
    return verdict .. ' ' .. (letter or '') .. ' ' .. index .. ' ' .. (score and told_score(known[1], score) or '') .. ' ' .. (known[8] or '')
  end

  local index, found
  if share and group.delay == 0 then
    join_line(queue, state)
    found = fair_place(queue, class, share)
    index = redis.call('ZCOUNT', K.waiting(queue), '-inf', '(' .. found.score)
  else
    index = newcomer_index(state.before, K.waiting(queue), state.entries, class)
  end
  if group.dry then return 'dry ' .. S.waiting .. ' ' .. index .. ' ' .. (found and told_score(queue, found.score) or '') end
  local was_handed = state.handed > 0 and redis.call('ZSCORE', K.allocated(queue), id)
  local others = state.handed - (was_handed and 1 or 0)
  if state.waiting + state.scheduled + others >= group.limit then return 'full   ' end
  if group.webhook ~= '' and untold_ends() >= group.limit then return 'untold   ' end
  if group.most and index > group.most and group.delay == 0 then
    return 'long  ' .. index .. ' ' .. (found and told_score(queue, found.score) or '')
  end

  if at_once ~= state.limit then align_limit(queue, state, at_once) end
  local arrival
  if state.limit then
    state.hlc = tick_hlc(state.hlc)
    arrival = (group.delay > 0 and '0' or whole(state.hlc)) .. (name == '' and '' or ' ' .. name)
  end
  store(group, n, key, listener, share, found and found.before, arrival)
  if was_handed then
    redis.call('ZREM', K.allocated(queue), id)
    state.handed = others
  end
  state.accepted = state.accepted + 1
  if group.delay > 0 then
    redis.call('ZADD', K.scheduled(queue), whole(now + group.delay), id)
    state.scheduled = state.scheduled + 1
    return 'new ' .. S.scheduled .. '   ' .. now_text
  end
  local score
  if found then
    join_fair(queue, id, found)
    score = found.score
  else
    if not state.limit then state.hlc = tick_hlc(state.hlc) end
    score = whole(class * CLASS + state.hlc)
    local length = #state.entries
    state.entries[length + 1], state.entries[length + 2] = score, id
  end
  local turn = ''
  if state.limit then
    local others = enter_key(queue, id, name, state.hlc, tonumber(score))
    local pending = #state.startable
    local before = found and redis.call('ZCOUNT', K.startable(queue), '-inf', '(' .. score) + pending / 2
      or newcomer_index(state.starts, K.startable(queue), state.startable, class)
    turn = ' ' .. before .. ' ' .. math.max(0, others - state.limit + 1) .. ' ' .. state.limit
    if others < state.limit then
      state.startable[pending + 1], state.startable[pending + 2] = score, id
      state.opened = state.opened + 1
      count_newcomer(state.starts, class)
    end
  end
  count_newcomer(state.before, class)
  state.waiting = state.waiting + 1
  state.joined = state.joined + 1
  return 'new ' .. S.waiting .. ' ' .. index .. ' ' .. told_score(queue, score) .. ' ' .. now_text .. turn
end

-- The whole group, in its order.
local function submit_each(group, state)
  fill_defaults(group)
  if not state.entries then
    state.entries, state.startable, state.before, state.starts, state.opened = {}, {}, {}, {}, 0
  end
  state.counted = nil
  for n = 1, group.count do verdicts[#verdicts + 1] = submit_one(group, state, n) end
end
