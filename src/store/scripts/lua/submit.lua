-- Stores tasks and puts them in line.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  groups: of tasks with the same queue, limit, listener and options that follow one another
-- ARGV[2…] of each group: queue, limit (most tasks waiting and scheduled and ids handed out), listener (the process that is told of
--          their ends, also of those that are there already; "" for none), options ("" when all have their defaults, else "1" and these ten): class (0 most urgent … 7), delay (ms),
--          media type ("" for JSON), query ("" for none), caller ("" for none), most (largest index the caller accepts, "" for any),
--          dry ("1" stores nothing), webhook (URL, "" for none), undo ("1" when what the task does can be undone), deadline (ms from
--          now, "" for none); number of its tasks; then of each of these: id, input, more ("", or the sum of 1: a digest, 2: a share, 4: a key, 8: a trace),
--          and these: digest (the input is not stored in the hash as it is), share ("weight key", of a fair line), key ("limit key" of a keyed line, "limit" for none), trace (see the field in fields.ts)
--
-- Returns {lines, verdicts}: a line of each queue (see lib/snapshot.lua) as it is afterwards; and in one string a line of text for
-- each task, "verdict state index score created" and of a new one in a keyed line its turn (see lib/keyed.lua): "new", "replay" (the same submission), "conflict" (another input), "elsewhere"
-- (another queue), "moved" (in another partition, see point.lua), "foreign" (another caller's), "full", "untold" (it has a webhook, and as many deliveries wait as tasks may),
-- "long" (index above most), "dry"; nothing for what there is not.
local base = KEYS[1]
--#include clock
--#include run when called
--#include freed keyed when called
--#include input when called
--#include snapshot
--#include rate
--#include listen when called
--#include fair share when called
--#include relative

local verdicts, queues, seen = {}, {}, {}
-- A task of which all else has its default; one table serves them all, and another one those of a group with options.
local PLAIN = { digest = '', class = C.defaultPriority, delay = 0, media = '', query = '', caller = '', dry = false, webhook = '', undo = '' }
-- The same of a task that has no options, but something of its own.
local OWN = {}
for name, value in pairs(PLAIN) do OWN[name] = value end

local function queue_state(queue)
  local state = seen[queue]
  if not state then
    local known = redis.call('HMGET', K.queue(queue), Q.hlc, Q.handedUntil, Q.keyed)
    local handed = tonumber(known[2] or 0) > now and redis.call('ZCOUNT', K.allocated(queue), '(' .. now_text, '+inf')
    state = {
      hlc = tonumber(known[1] or 0),
      limit = known[3] and key_limit(queue, known[3]),
      -- Ids that were handed out for tasks to come: they count as if they had.
      handed = handed or 0,
      waiting = redis.call('ZCARD', K.waiting(queue)),
      scheduled = redis.call('ZCARD', K.scheduled(queue)),
      joined = 0,
      accepted = 0,
      -- By class, how many stand before a newcomer.
      before = {},
      -- Scores and ids that are still to be put in line: all of a call at once.
      entries = {},
      -- The same of a keyed line, of those that may start.
      startable = {},
      opened = 0,
      starts = {},
    }
    seen[queue] = state
    queues[#queues + 1] = queue
  end
  return state
end

-- How many stand before a newcomer of a class: behind everything of it and before all classes less urgent. Counted once.
local function places_before(queue, state, class)
  if not state.before[class] then
    local before = redis.call('ZCOUNT', K.waiting(queue), '-inf', '(' .. whole((class + 1) * CLASS))
    for n = 1, #state.entries, 2 do
      if tonumber(state.entries[n]) < (class + 1) * CLASS then before = before + 1 end
    end
    state.before[class] = before
  end
  return state.before[class]
end

-- The same in a keyed line, of those that may start.
local function starts_before(queue, state, class)
  if not state.starts[class] then
    local before = redis.call('ZCOUNT', K.startable(queue), '-inf', '(' .. whole((class + 1) * CLASS))
    for n = 1, #state.startable, 2 do
      if tonumber(state.startable[n]) < (class + 1) * CLASS then before = before + 1 end
    end
    state.starts[class] = before
  end
  return state.starts[class]
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

local function known_verdict(known, task, input)
  if (known[5] or '') ~= task.caller then return 'foreign' end
  if known[1] ~= task.queue then return 'elsewhere' end
  local same = (known[3] or '') == task.media and (known[4] or '') == task.query
  if task.digest == '' then
    same = same and known[2] == input
  else
    same = same and known[6] == task.digest
  end
  return same and 'replay' or 'conflict'
end

-- What is stored of a task: only what is not the default.
local function store(key, task, input, listener)
  if task == PLAIN and listener then
    redis.call('HSET', key, F.queue, task.queue, F.state, S.waiting, F.created, now_text, F.input, input, F.listeners, listener)
    return
  elseif task == PLAIN then
    redis.call('HSET', key, F.queue, task.queue, F.state, S.waiting, F.created, now_text, F.input, input)
    return
  end
  if task == OWN and task.key and not (task.rare or task.share or listener) then
    redis.call('HSET', key, F.queue, task.queue, F.state, S.waiting, F.created, now_text, F.input, input, F.key, task.key, F.extra, task.key)
    return
  end
  local fields = { F.queue, task.queue, F.state, task.delay > 0 and S.scheduled or S.waiting, F.created, now_text, F.input, input }
  local function put(field, value)
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  if task.digest ~= '' then
    store_input(task.id, key, input)
    fields[7], fields[8] = F.digest, task.digest
  end
  if task.media ~= '' then put(F.mediaType, task.media) end
  if task.query ~= '' then put(F.query, task.query) end
  if task.caller ~= '' then put(F.caller, task.caller) end
  -- The fraction says that it is to join a fair line.
  if task.delay > 0 then put(F.place, whole(task.class * CLASS) .. (task.share and '.5' or '')) end
  if task.share then put(F.share, task.share) end
  if task.before then put(F.before, task.before) end
  if task.key then put(F.key, task.key) end
  if task.class ~= C.defaultPriority then put(F.priority, task.class) end
  if task.webhook ~= '' then put(F.webhook, task.webhook) end
  if task.trace then put(F.trace, task.trace) end
  if task.undo == '1' then put(F.undo, '1') end
  if task.deadline then
    put(F.deadline, whole(now + task.deadline))
    redis.call('ZADD', K.deadlines(task.queue), whole(now + task.deadline), task.id)
  end
  if task.rare or task.key then put(F.extra, task.rare and '1' or task.key) end
  if listener then put(F.listeners, listener) end
  redis.call('HSET', key, unpack(fields))
end
local at = 1
local function argument()
  at = at + 1
  return ARGV[at]
end

-- The options of the tasks of a group.
local function options_of_group()
  if argument() == '' then return PLAIN end
  local options = { digest = '', rare = true, class = tonumber(argument()), delay = tonumber(argument()) }
  options.media, options.query, options.caller, options.most = argument(), argument(), argument(), tonumber(argument())
  options.dry, options.webhook, options.undo, options.deadline = argument() == '1', argument(), argument(), tonumber(argument())
  return options
end

local function submit(queue, state, limit, listener, options)
  local id, input = argument(), argument()
  local task, more = options, argument()
  local at_once, name = false, ''
  if more ~= '' or options ~= PLAIN then
    local parts = tonumber(more) or 0
    if options == PLAIN then task = OWN end
    task.digest = parts % 2 == 1 and argument() or ''
    task.share = parts % 4 > 1 and argument() or nil
    if parts % 8 > 3 then
      at_once, name = string.match(argument(), '^(%d+) ?(.*)$')
      at_once = tonumber(at_once)
    end
    task.trace = parts > 7 and argument() or nil
    task.rare = options ~= PLAIN or task.digest ~= '' or task.trace ~= nil
    task.before, task.key = nil, nil
  end
  task.id, task.queue = id, queue
  local class = task.class
  local key = K.task(id)

  -- Nearly always it is not there, which EXISTS says for less.
  if not task.dry and redis.call('EXISTS', key) == 1 then
    local known = redis.call('HMGET', key, F.queue, F.input, F.mediaType, F.query, F.caller, F.digest, F.state, F.created)
    -- It may be of this very call.
    for name, of_name in pairs(seen) do join_line(name, of_name) end
    local letter = known[7]
    -- The task is in another partition.
    if not letter and known[1] == task.queue and (known[5] or '') == task.caller then return 'moved    ' end
    local verdict = known_verdict(known, task, input)
    if listener and verdict == 'replay' then listen(key, listener) end
    local rank = letter == S.waiting and redis.call('ZRANK', K.waiting(known[1]), id)
    local score = rank and redis.call('ZSCORE', K.waiting(known[1]), id)
    local index = rank and whole(rank) or (letter == S.running and '0' or '')
    return verdict .. ' ' .. (letter or '') .. ' ' .. index .. ' ' .. (score and told_score(known[1], score) or '') .. ' ' .. (known[8] or '')
  end

  local index, found
  if task.share and task.delay == 0 then
    join_line(queue, state)
    found = fair_place(queue, class, task.share)
    index = redis.call('ZCOUNT', K.waiting(queue), '-inf', '(' .. found.score)
    task.before = found.before
  else
    index = places_before(queue, state, class)
  end
  if task.dry then return 'dry ' .. S.waiting .. ' ' .. index .. ' ' .. (found and told_score(queue, found.score) or '') end
  local was_handed = state.handed > 0 and redis.call('ZSCORE', K.allocated(queue), id)
  local others = state.handed - (was_handed and 1 or 0)
  if state.waiting + state.scheduled + others >= limit then return 'full   ' end
  if task.webhook ~= '' and untold_ends() >= limit then return 'untold   ' end
  if task.most and index > task.most and task.delay == 0 then
    return 'long  ' .. index .. ' ' .. (found and told_score(queue, found.score) or '')
  end

  if at_once ~= state.limit then align_limit(queue, state, at_once) end
  if state.limit then
    state.hlc = tick_hlc(state.hlc)
    if task == PLAIN then
      -- Of a process that does not know the queue as keyed.
      task = OWN
      task.id, task.queue, task.digest, task.share, task.before, task.trace, task.rare = id, queue, '', nil, nil, nil, false
    end
    task.key = (task.delay > 0 and '0' or whole(state.hlc)) .. (name == '' and '' or ' ' .. name)
  end
  store(key, task, input, listener)
  if was_handed then
    redis.call('ZREM', K.allocated(queue), id)
    state.handed = others
  end
  state.accepted = state.accepted + 1
  if task.delay > 0 then
    redis.call('ZADD', K.scheduled(queue), whole(now + task.delay), id)
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
    state.entries[#state.entries + 1] = score
    state.entries[#state.entries + 1] = id
  end
  local turn = ''
  if state.limit then
    local others = enter_key(queue, id, name, state.hlc, tonumber(score))
    local pending = #state.startable / 2
    local before = found and redis.call('ZCOUNT', K.startable(queue), '-inf', '(' .. score) + pending or starts_before(queue, state, class)
    turn = ' ' .. before .. ' ' .. math.max(0, others - state.limit + 1) .. ' ' .. state.limit
    if others < state.limit then
      state.startable[2 * pending + 1], state.startable[2 * pending + 2] = score, id
      state.opened = state.opened + 1
      for other, starts in pairs(state.starts) do
        if other >= class then state.starts[other] = starts + 1 end
      end
    end
  end
  for other, before in pairs(state.before) do
    if other >= class then state.before[other] = before + 1 end
  end
  state.waiting = state.waiting + 1
  state.joined = state.joined + 1
  return 'new ' .. S.waiting .. ' ' .. index .. ' ' .. told_score(queue, score) .. ' ' .. now_text .. turn
end

for _ = 1, tonumber(ARGV[1]) do
  local queue, limit, listener = argument(), tonumber(argument()), argument()
  local options, count = options_of_group(), tonumber(argument())
  local state = queue_state(queue)
  listener = listener ~= '' and '.' .. listener
  for _ = 1, count do verdicts[#verdicts + 1] = submit(queue, state, limit, listener, options) end
end

local lines = {}
for n, queue in ipairs(queues) do
  local state = seen[queue]
  if state.joined > 0 then
    join_line(queue, state)
    redis.call('HSET', K.queue(queue), Q.hlc, whole(state.hlc))
    -- Whoever has free slots has emptied the line: only its first tasks are news.
    local waiting, joined = state.waiting, state.joined
    if state.limit then waiting, joined = redis.call('ZCARD', K.startable(queue)), state.opened end
    if waiting == joined and joined > 0 then redis.call('PUBLISH', K.work(queue), '') end
  end
  if state.accepted > 0 then count_rate(queue, R.accepted, state.accepted) end
  lines[n] = snapshot_of(queue)
end
return { lines, table.concat(verdicts, '\n') }
