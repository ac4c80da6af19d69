-- Stores tasks and puts them in line.
--
-- args[1]  groups: of tasks with the same queue, limit and options that follow one another
-- args[2…] of each group: queue, limit (most tasks waiting and scheduled and ids handed out), listener (the process that is told of
--          the ends of its tasks, also of those that are there already; "" for none), options ("" when all have their defaults, else
--          "1" and these ten): class (0 most urgent … 7), delay (ms), media type ("" for JSON), query ("" for none), caller ("" for
--          none), most (largest index the caller accepts, "" for any), dry ("1" stores nothing), webhook (URL, "" for none), undo
--          ("1" when what the task does can be undone), deadline (ms from now, "" for none); number of its tasks; more ("", or the
--          sum of 1: digests, 2: shares, 4: keys, 8: traces, 16: listeners); then the ids of all its tasks, the inputs of all, and
--          what more says of all, "" where a task has none: digest (the input is not stored in the hash as it is), share ("weight
--          key", of a fair line), key ("limit key" of a keyed line, "limit" for none), trace (see the field in fields.ts), listener
--
-- Returns {lines, verdicts}: a line of each queue (see snapshot.lua) as it is afterwards; and in one string a line of text for
-- each task, "verdict state index score created" and of a new one in a keyed line its turn (see keyed.lua), nothing for what
-- there is not; or "+n" for n more tasks like the one before, each with the next index and score. The verdicts: "new", "replay" (the
-- same submission), "conflict" (another input), "elsewhere" (another queue), "moved" (in another partition, see point.lua), "foreign"
-- (another caller's), "full", "untold" (it has a webhook, and as many deliveries wait as tasks may), "long" (index above most), "dry".
--
-- A batch is {args, verdicts, queues (in the order in which they are met), states (of each queue), webhooks}.

local whole = Number.whole

-- Reads a group of which the arguments begin behind the one at a place. Returns it, and the place of its last argument.
-- What it has of each task is found behind a place: `ids`, `inputs` and those that `more` names.
local function read_group(args, at)
  local queue, limit, listener, options = unpack(args, at + 1, at + 4)
  local group = { queue = queue, limit = tonumber(limit), listener = listener ~= '' and '.' .. listener, class = C.defaultPriority }
  at = at + 4
  if options ~= '' then
    local class, delay, media, query, caller, most, dry, webhook, undo, deadline = unpack(args, at + 1, at + 10)
    at = at + 10
    group.options, group.class, group.delay = true, tonumber(class), tonumber(delay)
    group.media, group.query, group.caller, group.most = media, query, caller, tonumber(most)
    group.dry, group.webhook, group.undo, group.deadline = dry == '1', webhook, undo, tonumber(deadline)
    group.alone = group.dry or group.most or group.delay > 0 or webhook ~= '' or group.deadline
  end
  local count, more = tonumber(args[at + 1]), tonumber(args[at + 2]) or 0
  group.count, group.ids, group.inputs = count, at + 2, at + 2 + count
  at = group.inputs + count
  if more % 2 == 1 then group.digests, at = at, at + count end
  if more % 4 > 1 then group.shares, at = at, at + count end
  if more % 8 > 3 then group.keys, at = at, at + count end
  if more % 16 > 7 then group.traces, at = at, at + count end
  if more > 15 then group.listeners, at = at, at + count end
  return group, at
end

-- What is known of a queue, and what this call has added to it.
local function read_state(call, queue)
  local figures = Snapshot.read(call, queue, Q.hlc, Q.handedUntil, Rate.field(call, R.accepted))
  local keyed, hlc, handed_until = figures[8], figures[9], figures[10]
  local handed = 0
  -- Ids that were handed out for tasks to come: they count as if they had.
  if handed_until and tonumber(handed_until) > call.now then
    handed = redis.call('ZCOUNT', K.allocated(call, queue), '(' .. call.now_text, '+inf')
  end
  return {
    figures = figures,
    hlc = tonumber(hlc or 0),
    limit = keyed and Keyed.limit(call, queue, keyed),
    handed = handed,
    waiting = redis.call('ZCARD', K.waiting(call, queue)),
    scheduled = redis.call('ZCARD', K.scheduled(call, queue)),
    joined = 0,
    accepted = 0,
  }
end

-- Stores a group that consists of new tasks of a plain line, for which nothing is to be decided one by one, and puts them in line
-- in one command. Returns false, and has changed nothing, if it does not.
local function submit_together(call, batch, group, state)
  local args, queue, count, ids, class = batch.args, group.queue, group.count, group.ids, group.class
  if group.alone or group.shares or group.keys or state.limit or state.handed > 0 then return false end
  if state.waiting + state.scheduled + count > group.limit then return false end
  local line, keys, entries = K.waiting(call, queue), {}, {}
  for n = 1, count do keys[n] = K.task(call, args[ids + n]) end
  if redis.call('EXISTS', unpack(keys)) > 0 then return false end
  if state.entries then
    Submission.join_line(call, queue, state)
    state.before = {}
  end
  -- Behind everything of its class and all before.
  if state.counted ~= class then
    state.counted = class
    state.index = state.waiting > 0 and redis.call('ZCOUNT', line, '-inf', '(' .. whole((class + 1) * C.classSpan)) or 0
  end
  local hlc = Call.next_hlc(call, state.hlc)
  local before = class * C.classSpan + hlc - 1
  for n = 1, count do entries[2 * n - 1], entries[2 * n] = whole(before + n), args[ids + n] end
  if redis.call('ZADD', line, unpack(entries)) < count then
    -- An id is there twice.
    redis.call('ZREM', line, unpack(args, ids + 1, ids + count))
    return false
  end
  if group.options or group.digests or group.traces then
    for n = 1, count do
      Submission.store(call, batch, group, n, keys[n], Submission.listener(batch, group, n))
    end
  else
    for n = 1, count do
      local listener, input = Submission.listener(batch, group, n), args[group.inputs + n]
      if listener then
        redis.call('HSET', keys[n], F.queue, queue, F.state, S.waiting, F.created, call.now_text, F.input, input, F.listeners, listener)
      else
        redis.call('HSET', keys[n], F.queue, queue, F.state, S.waiting, F.created, call.now_text, F.input, input)
      end
    end
  end
  local verdicts = batch.verdicts
  verdicts[#verdicts + 1] = 'new ' .. S.waiting .. ' ' .. state.index .. ' ' .. entries[1] .. ' ' .. call.now_text
  if count > 1 then verdicts[#verdicts + 1] = '+' .. count - 1 end
  state.index = state.index + count
  state.hlc = hlc + count - 1
  state.waiting, state.joined, state.accepted = state.waiting + count, state.joined + count, state.accepted + count
  return true
end

-- Writes what the call has changed of a queue, and tells workers of it.
local function write_state(call, queue, state)
  if state.entries then Submission.join_line(call, queue, state) end
  local accepted = Rate.added(call, state.figures[11], state.accepted)
  redis.call('HSET', K.queue(call, queue), Q.hlc, whole(state.hlc), Rate.field(call, R.accepted), accepted)
  -- Whoever has free slots has emptied the line: only its first tasks are news.
  local waiting, joined = state.waiting, state.joined
  if state.limit then waiting, joined = redis.call('ZCARD', K.startable(call, queue)), state.opened end
  if waiting == joined and joined > 0 then
    redis.call('ZADD', K.wake(call, queue), 0, '1')
    Notices.work(call, queue, C.passedOn)
  end
end

register('submit', {}, function(keys, args)
  local call = Call.new(keys)
  local batch = { args = args, verdicts = {}, queues = {}, states = {}, webhooks = nil }
  local at = 1
  for _ = 1, tonumber(args[1]) do
    local group
    group, at = read_group(args, at)
    local state = batch.states[group.queue]
    if not state then
      state = read_state(call, group.queue)
      batch.states[group.queue] = state
      batch.queues[#batch.queues + 1] = group.queue
    end
    if not submit_together(call, batch, group, state) then Submission.each(call, batch, group, state) end
  end

  local lines = {}
  for n, queue in ipairs(batch.queues) do
    local state = batch.states[queue]
    if state.accepted > 0 then write_state(call, queue, state) end
    local startable = state.limit and redis.call('ZCARD', K.startable(call, queue)) or nil
    lines[n] = Snapshot.with(call, queue, state.figures, state.waiting, state.scheduled, startable)
  end
  return { lines, table.concat(batch.verdicts, '\n') }
end)
