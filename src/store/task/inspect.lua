-- Reads tasks: the state of each, its place in line and the line itself, all as of the same instant; and details of one.
local Inspect = {}

local ITEM, ANSWER = Layout.inspect.item, Layout.inspect.answer
-- The places of the members of a task, see src/task-record.ts. The first are fields of its hash.
local TASK, STORED = Layout.inspect.task, Layout.inspect.stored

local whole = Number.whole
-- Maximum bytes of a result in an answer.
local INSIDE = 4096
local QUEUE, STATE, CREATED, EXTRA, RUN, SHARE = F.queue, F.state, F.created, F.extra, F.run, F.share
local STORED_QUEUE, STORED_STATE, STORED_CREATED = STORED.queue, STORED.state, STORED.created
local NONE = {}
local task_key = K.task

-- These fields in the order of their places, and then those that are read with them; listed by the first call.
local fields
local function list_fields()
  fields = { [STORED.width + 1] = F.result, [STORED.width + 2] = F.key }
  for name, place in pairs(STORED) do
    if F[name] then fields[place] = F[name] end
  end
end

-- The index of a task, and when it is due; false for each that it does not have.
local function place_of(call, queue, state, id)
  if state == S.waiting then
    local rank = redis.call('ZRANK', K.waiting(call, queue), id)
    return rank and whole(rank), false
  end
  if state == S.scheduled or state == S.retrying then
    return false, redis.call('ZSCORE', K.scheduled(call, queue), id)
  end
  return state == S.running and '0', false
end

-- After how long without a look the task is canceled, and when that is, unless somebody looks; false for each that it does not have.
local function presence_of(call, id, queue, stored)
  -- It has an entry until it ends; a member has that of its group.
  local entry, presence, group = id, stored[STORED.presenceMs], stored[STORED.group]
  if group then
    local owner, of_group = unpack(redis.call('HMGET', K.group(call, group), G.caller, G.presenceMs))
    entry, presence = Deadlines.entry_of_group(group), owner == (stored[STORED.caller] or '') and of_group
  end
  return presence, presence and redis.call('ZSCORE', K.deadlines(call, queue), entry)
end

-- Adds a member to those of a task, if it has it.
local function put(found, place, value)
  if not value or value == '' then return end
  local last = #found
  found[last + 1], found[last + 2] = place, value
end

-- What an answer has found of queues so far.
function Inspect.new()
  return { queues = {}, snapshots = {} }
end

-- Returns the members that a task has, each as its place and its value: see decodeTask in record.ts. For an unknown task "".
function Inspect.task(call, seen, id, with_result)
  local key = task_key(call, id)
  local queue, state, created, extra, run, share =
    unpack(redis.call('HMGET', key, QUEUE, STATE, CREATED, EXTRA, RUN, SHARE))
  if not state then return '' end
  if not seen.queues[queue] then
    seen.queues[queue] = true
    seen.snapshots[#seen.snapshots + 1] = Snapshot.of(call, queue)
  end
  local index, due = place_of(call, queue, state, id)
  local found, stored, result, of_key
  if extra or state == S.failed then
    if not fields then list_fields() end
    found, stored = {}, redis.call('HMGET', key, unpack(fields))
    result, of_key = stored[STORED.width + 1], stored[STORED.width + 2]
    local presence, present = presence_of(call, id, queue, stored)
    stored[STORED.presenceMs] = presence
    put(found, TASK.presentUntilMs, present)
    if of_key and Keyed.is_full(call, queue, id, state, of_key) then put(found, TASK.held, '1') end
    if of_key and index and state == S.waiting and Keyed.limit(call, queue) then
      put(found, TASK.turn, Keyed.turn(call, queue, id, of_key, redis.call('ZSCORE', K.waiting(call, queue), id)))
    end
    for place = 1, STORED.width do put(found, place, stored[place]) end
  else
    -- Most tasks: a loop over all fields would take longer than their reading. A waiting or scheduled one has never been out of the line for
    -- longer than a release.
    found, stored = { STORED_QUEUE, queue, STORED_STATE, state, STORED_CREATED, created or '' }, NONE
    if run then put(found, STORED.run, run) end
    if state ~= S.waiting and state ~= S.scheduled then
      local ended, expires
      ended, expires, result = unpack(redis.call('HMGET', key, F.ended, F.expires, F.result))
      put(found, STORED.ended, ended)
      put(found, STORED.expires, expires)
      stored = { [STORED.expires] = expires }
    end
  end
  if index then put(found, TASK.index, index) end
  if due then put(found, TASK.dueMs, due) end
  if of_key or share then put(found, TASK.key, Line.key_of(of_key, share)) end
  local expires, deleted = stored[STORED.expires], stored[STORED.deleted]
  if expires and with_result then
    -- A result in the hash may still be there after it has expired.
    if (tonumber(expires) or call.now + 1) > call.now then
      local read = Result.read(call, id, key, result, INSIDE)
      put(found, type(read) == 'number' and TASK.resultBytes or TASK.result, read)
    end
    if state == S.failed then put(found, TASK.errors, redis.call('HGET', K.attempts(call, id), T.errors)) end
  end
  put(found, TASK.allowed, Actions.list(call, id, key, queue, state, run, stored[STORED.cancel], deleted, expires))
  return found
end

-- Returns a snapshot of each queue, and the tasks.
function Inspect.answer(call, seen, tasks)
  return { [ANSWER.nowMs] = call.now_text, [ANSWER.snapshots] = seen.snapshots, [ANSWER.tasks] = tasks }
end

local function inspect_one(call, args, at, seen)
  return Inspect.task(call, seen, args[at + ITEM.id], args[at + ITEM.result] == '1')
end

local function inspect(call, args, layout)
  local seen = Inspect.new()
  return Inspect.answer(call, seen, Call.each_by_place(call, args, layout, inspect_one, seen))
end

-- Returns a snapshot of each queue, and for each task the members that it has, see Inspect.task.
register_hot('inspect', { 'no-writes' }, function(keys, args)
  return inspect(Call.new(keys), args, Layout.inspect)
end)

-- The same, and adds a process to the listeners in their records, so that it gets notices from now on. Returns the same.
register_hot('watch', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.watch.args
  for n = 0, tonumber(args[ARGS.count]) - 1 do
    local key = K.task(call, args[ARGS.count + n * ITEM.width + ITEM.id])
    if redis.call('HEXISTS', key, F.state) == 1 then Notices.listen(key, args[ARGS.process]) end
  end
  return inspect(call, args, Layout.watch)
end)

local function lifetime(call, id)
  local group = string.match(id, '^(.*):group$')
  return redis.call('PTTL', group and K.group(call, group) or K.task(call, id))
end

-- Returns for each task, or group (":group" follows its id), the ms until its record expires, as Redis says it: -1 until it has ended, -2
-- if there is none.
register('lifetimes', { 'no-writes' }, function(call, asked)
  return Call.each(call, asked.items, lifetime)
end)

-- The id of the task that undoes the work of another; '' if there is none.
local function find_undo(call, id, queue, undoing, run)
  if not undoing then return '' end
  local undo = Follow.undo_id(id, queue, undoing, (Run.parts(run)))
  return redis.call('EXISTS', K.task(call, undo)) == 1 and undo or ''
end

-- How many steps there are, and some of them.
local function read_steps(key, max, step_bytes)
  local length, steps = redis.call('HLEN', key), {}
  if length == 0 then return length, steps end
  local page = redis.call('HSCAN', key, '0', 'COUNT', max)[2]
  for n = 1, math.min(#page, 2 * max), 2 do
    local stored = page[n + 1]
    steps[#steps + 1] = { name = page[n], stored = string.sub(stored, 1, step_bytes), length = #stored }
  end
  return length, steps
end

-- Reads details of a task that few callers need. Returns nothing for an unknown task; '' for each text that it does not have. Beside them
-- its input, of a longer one only the length.
register('details', { 'no-writes' }, function(call, asked)
  local id = asked.id
  local key = K.task(call, id)
  local queue, run, priority, media, query, webhook, undoing, input = unpack(redis.call(
    'HMGET', key, F.queue, F.run, F.priority, F.mediaType, F.query, F.webhook, F.undoing, F.input
  ))
  if not queue then return nil end
  local past, logs = unpack(redis.call('HMGET', K.attempts(call, id), T.past, T.logs))

  local undo = find_undo(call, id, queue, undoing, run)
  -- The steps have moved to the task that undoes them.
  local of = redis.call('EXISTS', K.steps(call, id)) == 0 and undo ~= '' and undo or id
  local length, steps = read_steps(K.steps(call, of), asked.steps, asked.stepBytes)
  local answer = {
    past = past or '',
    logs = logs or '',
    priority = tonumber(priority or C.defaultPriority),
    mediaType = media or 'application/json',
    query = query or '',
    webhook = webhook or '',
    undo = undo,
    stepCount = length,
    steps = steps,
  }
  return answer, input or Input.inline(key) or Result.value_or_length(K.input(call, id), asked.bytes)
end)

return Inspect
