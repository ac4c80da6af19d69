-- Stores tasks and puts them in line; replaces the input of one that waits.
--
-- A batch is {args, verdicts, queues (in the order in which they are met), states (of each queue), webhooks, open (whether a group of
-- group.lua takes members), turns (their ids, at the places of their verdicts)}. A group is here what consecutive tasks have in common.

local whole = Number.whole
local ARGS, GROUP, OPTIONS, ANSWER = Layout.submit.args, Layout.submit.group, Layout.submit.options, Layout.submit.answer
local QUEUE, STATE, CREATED, INPUT, LISTENERS = F.queue, F.state, F.created, F.input, F.listeners
local WAITING = S.waiting
local NONE = Submission.no_options

-- Reads the group whose arguments begin after the one at a place. Returns it, and the place of its last argument.
-- The values of its tasks come after a place each: `ids`, `inputs` and those that its lists name.
local function read_group(call, args, at)
  local listener, lists, count = args[at + GROUP.listener], args[at + GROUP.lists], tonumber(args[at + GROUP.tasks])
  local group = {
    queue = args[at + GROUP.queue],
    limit = tonumber(args[at + GROUP.limit]),
    listener = listener ~= '' and '.' .. listener,
    options = NONE,
    class = C.defaultPriority,
    delay = 0,
    count = count,
  }
  local has_options = args[at + GROUP.options] == '1'
  at = at + GROUP.width
  if has_options then
    local options = {}
    for name, place in pairs(OPTIONS) do
      if name ~= 'width' and args[at + place] ~= '' then options[name] = args[at + place] end
    end
    group.options, group.class, group.delay = options, tonumber(options.priority) or C.defaultPriority, Submission.delay(call, options)
    group.max, group.deadline = tonumber(options.maxIndex), tonumber(options.deadlineMs)
    group.alone = options.dryRun or group.max or group.delay > 0 or options.webhook or group.deadline or options.presenceMs
      or options.group or options.turn
    at = at + OPTIONS.width
  end
  group.ids, group.inputs = at, at + count
  at = at + 2 * count
  if lists ~= '' then
    for list in string.gmatch(lists, '%S+') do group[list], at = at, at + count end
  end
  return group, at
end

-- The state of a queue, with counters of what this call adds to it.
local function read_state(call, queue)
  local figures = Snapshot.read(call, queue, Q.hlc, Q.keptUntil, Rate.field(call, R.accepted))
  local keyed, hlc, kept_until = figures[12], figures[13], figures[14]
  local kept = 0
  -- Kept places count as waiting tasks.
  if kept_until and tonumber(kept_until) > call.now then
    kept = redis.call('ZCOUNT', K.kept(call, queue), '(' .. call.now_text, '+inf')
  end
  return {
    figures = figures,
    hlc = tonumber(hlc or 0),
    limit = keyed and Keyed.limit(call, queue, keyed),
    kept = kept,
    waiting = redis.call('ZCARD', K.waiting(call, queue)),
    scheduled = redis.call('ZCARD', K.scheduled(call, queue)),
    joined = 0,
    accepted = 0,
  }
end

-- Stores a group of new tasks of a plain line, if no task needs a decision of its own, and puts them in line in one command. Otherwise
-- changes nothing and returns false.
local function submit_together(call, batch, group, state)
  local args, queue, count, ids, class = batch.args, group.queue, group.count, group.ids, group.class
  if group.alone or group.shares or group.keys or state.limit or state.kept > 0 then return false end
  if state.waiting + state.scheduled + count > group.limit then return false end
  local line, keys, entries = K.waiting(call, queue), {}, {}
  local task_key = K.task
  for n = 1, count do keys[n] = task_key(call, args[ids + n]) end
  if redis.call('EXISTS', unpack(keys)) > 0 then return false end
  if state.entries then
    Submission.join_line(call, queue, state)
    state.before = {}
  end
  -- After all tasks of its class and of more urgent ones.
  if state.counted ~= class then
    state.counted = class
    state.index = state.waiting > 0 and redis.call('ZCOUNT', line, '-inf', '(' .. whole((class + 1) * C.classSpan)) or 0
  end
  local hlc = Call.next_hlc(call, state.hlc)
  local before = class * C.classSpan + hlc - 1
  for n = 1, count do entries[2 * n - 1], entries[2 * n] = whole(before + n), args[ids + n] end
  if redis.call('ZADD', line, unpack(entries)) < count then
    -- An id occurs twice.
    redis.call('ZREM', line, unpack(args, ids + 1, ids + count))
    return false
  end
  if group.options ~= NONE or group.digests or group.traces then
    for n = 1, count do
      Submission.store(call, batch, group, n, keys[n], Submission.listener(batch, group, n))
    end
  else
    local now, inputs, listeners, listener = call.now_text, group.inputs, group.listeners, group.listener
    for n = 1, count do
      if listeners then listener = Submission.listener(batch, group, n) end
      if listener then
        redis.call('HSET', keys[n], QUEUE, queue, STATE, WAITING, CREATED, now, INPUT, args[inputs + n], LISTENERS, listener)
      else
        redis.call('HSET', keys[n], QUEUE, queue, STATE, WAITING, CREATED, now, INPUT, args[inputs + n])
      end
    end
  end
  local verdicts = batch.verdicts
  verdicts[#verdicts + 1] = 'new ' .. S.waiting .. ' ' .. state.index .. ' ' .. call.now_text
  if count > 1 then verdicts[#verdicts + 1] = '+' .. count - 1 end
  state.index = state.index + count
  state.hlc = hlc + count - 1
  state.waiting, state.joined, state.accepted = state.waiting + count, state.joined + count, state.accepted + count
  return true
end

-- Writes the changes of a queue, and notifies its workers, or lets the next turns begin.
local function write_state(call, queue, state)
  if state.entries then Submission.join_line(call, queue, state) end
  local accepted = Rate.added(call, state.figures[15], state.accepted)
  redis.call('HSET', K.queue(call, queue), Q.hlc, whole(state.hlc), Rate.field(call, R.accepted), accepted)
  -- Workers with free slots have emptied the line before, so only its first tasks need a message.
  if Total.longest_turn(state.figures[10]) then
    Total.note(call, queue)
    return
  end
  local waiting, joined = state.waiting, state.joined
  if state.limit then waiting, joined = redis.call('ZCARD', K.startable(call, queue)), state.opened end
  if waiting == joined and joined > 0 then
    redis.call('ZADD', K.wake(call, queue), 0, '1')
    Worker.note_need(call, queue, state.joined, state.figures[4])
    Notices.work(call, queue, C.passedOn)
  end
end

-- Returns the snapshot of each queue after the call; and in one string a line of text for each task, "verdict state index created", for a
-- new one in a keyed line also its turn (see keyed.lua), with nothing for a missing member; or "+n" for n more tasks like the one before,
-- each with the next index; a scheduled one has in how many ms it is due, and a turn that has begun its fence. The verdicts: "new", "replay"
-- (the same submission), "conflict" (another input), "elsewhere" (another queue), "foreign" (another caller's), "full", "webhooks-full" (it
-- has a webhook, and too many deliveries wait), "long" (index above `maxIndex`), "late" (its deadline would pass before it is due), "far"
-- (it is due later than any may be), "too-many" (too many of its key wait; the rest: see Keyed.refusal), "closed" (its group accepts no more
-- members), "dry".
register_hot('submit', {}, function(keys, args)
  local call = Call.new(keys)
  local batch = { args = args, verdicts = {}, queues = {}, states = {}, webhooks = nil, open = {}, turns = {} }
  local at = ARGS.groups
  for _ = 1, tonumber(args[ARGS.groups]) do
    local group
    group, at = read_group(call, args, at)
    local state = batch.states[group.queue]
    if not state then
      state = read_state(call, group.queue)
      batch.states[group.queue] = state
      batch.queues[#batch.queues + 1] = group.queue
    end
    if not submit_together(call, batch, group, state) then Submission.each(call, batch, group, state) end
  end

  local lines = {}
  for _, queue in ipairs(batch.queues) do
    local state = batch.states[queue]
    if state.accepted > 0 then write_state(call, queue, state) end
  end
  Total.close(call)
  for n, id in pairs(batch.turns) do
    local state, run = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run))
    if state == S.running then
      local fence = Run.parts(run)
      batch.verdicts[n] = 'new ' .. S.running .. ' 0 ' .. call.now_text .. ' ' .. fence
    end
  end
  for n, queue in ipairs(batch.queues) do
    local state = batch.states[queue]
    -- Turns may have begun.
    if Total.longest_turn(state.figures[10]) then state.waiting = redis.call('ZCARD', K.waiting(call, queue)) end
    local startable = state.limit and redis.call('ZCARD', K.startable(call, queue)) or nil
    lines[n] = Snapshot.with(call, queue, state.figures, state.waiting, state.scheduled, startable)
  end
  Notices.send(call)
  local reply = { nil, nil }
  reply[ANSWER.snapshots], reply[ANSWER.verdicts] = lines, table.concat(batch.verdicts, '\n')
  return reply
end)

local function put(key, field, value)
  if value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
end

local function update(call, key, asked)
  local id = asked.id
  local state, run, replaced, queue, of_key = unpack(redis.call('HMGET', key, F.state, F.run, F.revision, F.queue, F.key))
  if not state then return 'unknown' end
  if not Actions.can_replace(state, run) then return 'conflict' end
  if asked.revision and tonumber(replaced or 0) ~= asked.revision then return 'changed' end

  if asked.key then
    local _, name, most = Keyed.asked(asked.key)
    local refusal = Keyed.change(call, queue, id, state, of_key, name, most)
    if refusal then return refusal end
    Total.note(call, queue)
  end
  Input.drop(call, id, key)
  if asked.digest == '' then
    redis.call('HSET', key, F.input, asked.input)
  else
    Input.store(call, id, key, asked.input)
    redis.call('HDEL', key, F.input)
  end
  put(key, F.digest, asked.digest)
  for name, value in pairs(asked.fields) do
    if F[name] then put(key, F[name], value) end
  end
  redis.call('HINCRBY', key, F.revision, 1)
  redis.call('HSET', key, F.extra, '1')
  -- Steps that a dead task kept until it was retried.
  redis.call('UNLINK', K.steps(call, id))
  Notices.change(call, id, state)
  return 'updated', true
end

-- Replaces the input of a task that has not begun. It keeps its place; in a keyed line it comes after tasks of its new line key that were
-- before it. Returns "updated", "conflict" (a worker has or had it, or it is finished), "changed" (it has another revision), "too-many"
-- (too many of its new line key wait; the rest: see Keyed.refusal) or "unknown".
register('update', {}, function(call, asked)
  local verdict = Call.once(call, K.task(call, asked.id), F.answers, A.update, update, asked)
  Settle.close(call)
  return verdict
end)

-- Notes in the record of a task that its input was submitted again, as another task. Returns "noted", or "unknown".
register('again', {}, function(call, asked)
  local key = K.task(call, asked.id)
  -- A later task may have got the id.
  if redis.call('HGET', key, F.created) ~= Number.whole(asked.createdMs) then return 'unknown' end
  redis.call('HSET', key, F.again, asked.again, F.extra, '1')
  return 'noted'
end)
