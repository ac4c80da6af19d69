-- Submits the tasks of a group one by one: each may already exist, or have a place or a condition of its own. See submit.lua for what
-- a group, the state of a queue, and a batch are.
local Submission = {}

-- The options of a group are those that are not the default, by name.
Submission.no_options = {}

local whole = Number.whole
local CLASS = C.classSpan

-- How many tasks are before a newcomer of a class, which comes after its class and before less urgent ones. Counted once.
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

-- In how many ms a task with these options joins the line; 0 for at once.
function Submission.delay(call, options)
  local not_before = tonumber(options.notBeforeMs)
  return not_before and math.max(0, not_before - call.now) or tonumber(options.delayMs) or 0
end

-- The verdict for a group of tasks whose times cannot be met; nil if they can.
local function impossible(group)
  if group.delay > C.longestDelayMs then return 'far' end
  return group.deadline and group.deadline <= group.delay and 'late' or nil
end

-- The number of webhook deliveries that wait; read once, and only for submissions with a webhook.
local function waiting_webhooks(call, batch)
  if not batch.webhooks then
    local queue = Call.own_queue(call, C.webhookQueue)
    batch.webhooks = redis.call('ZCARD', K.waiting(call, queue)) + redis.call('ZCARD', K.scheduled(call, queue))
  end
  return batch.webhooks
end

-- Whether the group of tasks to be stored takes more members; read once for each group in a call.
local function takes_members(call, batch, id, caller)
  local open = batch.open[id]
  if open == nil then
    open = Group.is_open(call, id, caller or '')
    batch.open[id] = open
  end
  return open
end

-- Puts the gathered tasks in line.
function Submission.join_line(call, queue, state)
  if not state.entries then return end
  if #state.entries > 0 then redis.call('ZADD', K.waiting(call, queue), unpack(state.entries)) end
  if #state.startable > 0 then redis.call('ZADD', K.startable(call, queue), unpack(state.startable)) end
  state.entries, state.startable = {}, {}
end

-- A submission carries the limit of its queue: after a change, reserve.lua decides anew which tasks may start.
local function align_limit(call, queue, state, limit)
  local counters = K.queue(call, queue)
  local empty = state.waiting + state.scheduled == 0 and redis.call('EXISTS', K.leases(call, queue)) == 0
  -- Without keys, it becomes a plain line again once it is empty.
  if not limit and not empty then return end
  state.limit = Keyed.limit(call, queue, limit)
  if not limit then
    redis.call('HDEL', counters, Q.keyed, Q.rekey)
    redis.call('UNLINK', K.startable(call, queue))
  elseif state.waiting > 0 then
    redis.call('HSET', counters, Q.keyed, limit, Q.rekey, '-inf')
  else
    redis.call('HSET', counters, Q.keyed, limit)
  end
end

-- Appends a field and its value to a list; returns the new last index.
local function put(fields, last, field, value)
  fields[last + 1], fields[last + 2] = field, value
  return last + 2
end

-- The fields and values that all tasks of a group share, and their number. An option with the name of a field is stored in it unchanged.
local function common_fields(call, group)
  local fields, last = { F.queue, group.queue, F.state, group.delay > 0 and S.scheduled or S.waiting, F.created, call.now_text }, 6
  for name, value in pairs(group.options) do
    if F[name] then last = put(fields, last, F[name], value) end
  end
  if group.deadline then last = put(fields, last, F.deadline, whole(call.now + group.deadline)) end
  if group.options ~= Submission.no_options then last = put(fields, last, F.extra, '1') end
  return fields, last
end

-- Stores the nth task of a group.
--   share, before, arrival  its own facts in a fair or keyed line, nil or false for none
function Submission.store(call, batch, group, n, key, listener, share, before, arrival)
  if not group.fields then group.fields, group.common = common_fields(call, group) end
  local args, fields, last = batch.args, group.fields, group.common
  local id, input = args[group.ids + n], args[group.inputs + n]
  local digest, trace = group.digests and args[group.digests + n] or '', group.traces and args[group.traces + n] or ''
  if digest == '' then
    last = put(fields, last, F.input, input)
  else
    last = put(fields, last, F.digest, digest)
    last = Input.put(call, fields, last, id, input)
  end
  if listener then last = put(fields, last, F.listeners, listener) end
  -- The fraction marks a task that will join a fair line.
  if group.delay > 0 then last = put(fields, last, F.place, whole(group.class * CLASS) .. (share and '.5' or '')) end
  if share then last = put(fields, last, F.share, share) end
  if before then last = put(fields, last, F.before, before) end
  if arrival then last = put(fields, last, F.key, arrival) end
  if trace ~= '' then last = put(fields, last, F.trace, trace) end
  if group.options == Submission.no_options and (digest ~= '' or trace ~= '' or arrival) then
    last = put(fields, last, F.extra, (digest ~= '' or trace ~= '') and '1' or arrival)
  end
  local presence = group.options.presenceMs
  if group.deadline or presence then
    Deadlines.enter(call, group.queue, id, group.deadline and call.now + group.deadline, presence)
  end
  redis.call('HSET', key, unpack(fields, 1, last))
end

-- The verdict for an id that already has a task.
local function known_verdict(call, batch, group, id, key, input, digest, listener)
  local queue, known_input, media, query, caller, known_digest, state, created = unpack(redis.call(
    'HMGET', key, F.queue, F.input, F.mediaType, F.query, F.caller, F.digest, F.state, F.created
  ))
  -- That task may be from this same call.
  for of_name, of_state in pairs(batch.states) do Submission.join_line(call, of_name, of_state) end
  local options = group.options
  local is_callers = (caller or '') == (options.caller or '')
  local verdict = 'conflict'
  if not is_callers then
    verdict = 'foreign'
  elseif queue ~= group.queue then
    verdict = 'elsewhere'
  elseif (media or '') == (options.mediaType or '') and (query or '') == (options.query or '')
    and (digest == '' and known_input == input or digest ~= '' and known_digest == digest) then
    verdict = 'replay'
  end
  if listener and verdict == 'replay' then Notices.listen(key, listener) end
  local rank = state == S.waiting and redis.call('ZRANK', K.waiting(call, queue), id)
  local index = rank and whole(rank) or (state == S.running and '0' or '')
  local due = (state == S.scheduled or state == S.retrying) and redis.call('ZSCORE', K.scheduled(call, queue), id)
  local more = due and ' ' .. whole(math.max(0, due - call.now)) or ''
  if options.group and verdict == 'replay' then
    -- A member of this or of another group, or of none.
    more = (more == '' and ' ' or more) .. ' ' .. (redis.call('HGET', key, F.group) or '')
  end
  return verdict .. ' ' .. (state or '') .. ' ' .. index .. ' ' .. (created or '') .. more
end

-- A new task of a keyed line joins that of its key. Returns its turn, see Keyed.turn, behind a space.
local function enter_key(call, group, state, id, name, score, found)
  local queue, class = group.queue, group.class
  local others = Keyed.enter(call, queue, id, name, whole(state.hlc))
  local startable, pending = K.startable(call, queue), #state.startable
  local before = found and redis.call('ZCOUNT', startable, '-inf', '(' .. score) + pending / 2
    or newcomer_index(state.starts, startable, state.startable, class)
  if others < state.limit then
    state.startable[pending + 1], state.startable[pending + 2] = score, id
    state.opened = state.opened + 1
    count_newcomer(state.starts, class)
  end
  return ' ' .. before .. ' ' .. math.max(0, others - state.limit + 1) .. ' ' .. state.limit
end

-- Submits the nth task of a group. Returns its line of the answer.
local function submit_one(call, batch, group, state, n)
  local args, queue, class = batch.args, group.queue, group.class
  local id, input, digest = args[group.ids + n], args[group.inputs + n], group.digests and args[group.digests + n] or ''
  local key, listener = K.task(call, id), Submission.listener(batch, group, n)
  local share = group.shares and args[group.shares + n] ~= '' and args[group.shares + n]
  local limit, name, most = false, '', nil
  if group.keys and args[group.keys + n] ~= '' then limit, name, most = Keyed.asked(args[group.keys + n]) end

  -- Nearly always there is no task yet, and EXISTS says so at less cost.
  if not group.options.dryRun and redis.call('EXISTS', key) == 1 then
    return known_verdict(call, batch, group, id, key, input, digest, listener)
  end

  local refusal = impossible(group)
  if refusal then return refusal end

  local index, found
  if share and group.delay == 0 then
    Submission.join_line(call, queue, state)
    found = Fair.find_place(call, queue, class, share)
    index = redis.call('ZCOUNT', K.waiting(call, queue), '-inf', '(' .. found.score)
  else
    index = newcomer_index(state.before, K.waiting(call, queue), state.entries, class)
  end
  if most then
    Submission.join_line(call, queue, state)
    refusal = Keyed.refusal(call, queue, name, most)
  end
  if group.options.dryRun then
    -- A repeated submission is not refused.
    if refusal and redis.call('EXISTS', key) == 0 then return refusal end
    return group.delay > 0 and 'dry ' .. S.scheduled .. '   ' .. whole(group.delay) or 'dry ' .. S.waiting .. ' ' .. index
  end
  local of_group = group.options.group
  if of_group and not takes_members(call, batch, of_group, group.options.caller) then return 'closed' end
  local was_kept = state.kept > 0 and redis.call('ZSCORE', K.kept(call, queue), id)
  local others = state.kept - (was_kept and 1 or 0)
  if state.waiting + state.scheduled + others >= group.limit then return 'full' end
  if refusal then return refusal end
  if group.options.webhook and waiting_webhooks(call, batch) >= group.limit then return 'webhooks-full' end
  if group.max and index > group.max and group.delay == 0 then return 'long  ' .. index end

  if limit ~= state.limit then align_limit(call, queue, state, limit) end
  local arrival
  if state.limit then
    state.hlc = Call.next_hlc(call, state.hlc)
    arrival = (group.delay > 0 and '0' or whole(state.hlc)) .. (name == '' and '' or ' ' .. name)
  end
  Submission.store(call, batch, group, n, key, listener, share, found and found.before, arrival)
  if was_kept then
    redis.call('ZREM', K.kept(call, queue), id)
    state.kept = others
  end
  state.accepted = state.accepted + 1
  if group.delay > 0 then
    redis.call('ZADD', K.scheduled(call, queue), whole(call.now + group.delay), id)
    if state.limit then Keyed.enter(call, queue, id, name, Keyed.due_later(call.now + group.delay)) end
    state.scheduled = state.scheduled + 1
    if of_group then Group.enter(call, of_group, id, args[group.lines + n], nil, call.now + group.delay) end
    return 'new ' .. S.scheduled .. '  ' .. call.now_text .. ' ' .. whole(group.delay)
  end
  local score
  if found then
    Fair.join(call, queue, id, found)
    score = found.score
  else
    if not state.limit then state.hlc = Call.next_hlc(call, state.hlc) end
    score = whole(class * CLASS + state.hlc)
    local length = #state.entries
    state.entries[length + 1], state.entries[length + 2] = score, id
  end
  if of_group then Group.enter(call, of_group, id, args[group.lines + n], score) end
  local turn = state.limit and enter_key(call, group, state, id, name, score, found) or ''
  count_newcomer(state.before, class)
  state.waiting = state.waiting + 1
  state.joined = state.joined + 1
  if group.options.turn then
    batch.turns[#batch.verdicts + 1] = id
    call.submitted = call.submitted or {}
    call.submitted[id] = true
  end
  return 'new ' .. S.waiting .. ' ' .. index .. ' ' .. call.now_text .. turn
end

-- The listener entry of the process to notify of the end of the nth task of a group; false if there is none.
function Submission.listener(batch, group, n)
  if not group.listeners then return group.listener end
  local listener = batch.args[group.listeners + n]
  return listener ~= '' and '.' .. listener
end

-- Submits the whole group, in order.
function Submission.each(call, batch, group, state)
  if not state.entries then
    state.entries, state.startable, state.before, state.starts, state.opened = {}, {}, {}, {}, 0
  end
  state.counted = nil
  for n = 1, group.count do batch.verdicts[#batch.verdicts + 1] = submit_one(call, batch, group, state, n) end
end

return Submission
