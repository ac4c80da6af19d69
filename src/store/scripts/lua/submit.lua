-- Stores tasks and puts them in line.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  groups: of tasks with the same queue, limit and options that follow one another
-- ARGV[2…] of each group: queue, limit (most tasks waiting and scheduled and ids handed out), listener (the process that is told of
--          the ends of its tasks, also of those that are there already; "" for none), options ("" when all have their defaults, else
--          "1" and these ten): class (0 most urgent … 7), delay (ms), media type ("" for JSON), query ("" for none), caller ("" for
--          none), most (largest index the caller accepts, "" for any), dry ("1" stores nothing), webhook (URL, "" for none), undo
--          ("1" when what the task does can be undone), deadline (ms from now, "" for none); number of its tasks; more ("", or the
--          sum of 1: digests, 2: shares, 4: keys, 8: traces, 16: listeners); then the ids of all its tasks, the inputs of all, and
--          what more says of all, "" where a task has none: digest (the input is not stored in the hash as it is), share ("weight
--          key", of a fair line), key ("limit key" of a keyed line, "limit" for none), trace (see the field in fields.ts), listener
--
-- Returns {lines, verdicts}: a line of each queue (see lib/snapshot.lua) as it is afterwards; and in one string a line of text for
-- each task, "verdict state index score created" and of a new one in a keyed line its turn (see lib/keyed.lua), nothing for what
-- there is not; or "+n" for n more tasks like the one before, each with the next index and score. The verdicts: "new", "replay" (the
-- same submission), "conflict" (another input), "elsewhere" (another queue), "moved" (in another partition, see point.lua), "foreign"
-- (another caller's), "full", "untold" (it has a webhook, and as many deliveries wait as tasks may), "long" (index above most), "dry".
local base = KEYS[1]
--#include clock
--#include rate
--#include run when called
--#include snapshot

local verdicts, queues, seen = {}, {}, {}

-- The entry of the process that is to be told of the end of the nth task of a group; false if there is none.
local function listener_of(group, n)
  if not group.listeners then return group.listener end
  local listener = ARGV[group.listeners + n]
  return listener ~= '' and '.' .. listener
end
--#include freed keyed when called
--#include input when called
--#include listen when called
--#include fair share when called
--#include relative when called
--#include submission when called

local function queue_state(queue)
  local figures = read_figures(queue, Q.hlc, Q.handedUntil, rate_field(R.accepted))
  local keyed, hlc, handed = figures[8], figures[9], figures[10]
  local state = {
    figures = figures,
    hlc = tonumber(hlc or 0),
    limit = keyed and key_limit(queue, keyed),
    -- Ids that were handed out for tasks to come: they count as if they had.
    handed = handed and tonumber(handed) > now and redis.call('ZCOUNT', K.allocated(queue), '(' .. now_text, '+inf') or 0,
    waiting = redis.call('ZCARD', K.waiting(queue)),
    scheduled = redis.call('ZCARD', K.scheduled(queue)),
    joined = 0,
    accepted = 0,
  }
  seen[queue] = state
  queues[#queues + 1] = queue
  return state
end

-- Stores a group that consists of new tasks of a plain line, for which nothing is to be decided one by one, and puts them in line
-- in one command. Returns false, and has changed nothing, if it does not.
local function submit_together(group, state)
  local queue, count, more = group.queue, group.count, group.more
  if group.alone or more % 8 > 1 or state.limit or state.handed > 0 then return false end
  if state.waiting + state.scheduled + count > group.limit then return false end
  local line, ids, class = K.waiting(queue), group.ids, group.class
  local hlc = tick_hlc(state.hlc)
  local before = class * CLASS + hlc - 1
  local keys, entries = {}, {}
  for n = 1, count do keys[n] = K.task(ARGV[ids + n]) end
  if redis.call('EXISTS', unpack(keys)) > 0 then return false end
  if state.entries then
    join_line(queue, state)
    state.before = {}
  end
  -- Behind everything of its class and all before.
  if state.counted ~= class then
    state.counted = class
    state.index = state.waiting > 0 and redis.call('ZCOUNT', line, '-inf', '(' .. whole((class + 1) * CLASS)) or 0
  end
  for n = 1, count do entries[2 * n - 1], entries[2 * n] = whole(before + n), ARGV[ids + n] end
  if redis.call('ZADD', line, unpack(entries)) < count then
    -- An id is there twice.
    redis.call('ZREM', line, unpack(ARGV, ids + 1, ids + count))
    return false
  end
  if group.options or more % 16 > 0 then
    for n = 1, count do store(group, n, keys[n], listener_of(group, n)) end
  else
    local call, inputs, listener = redis.call, group.inputs, group.listener
    for n = 1, count do
      if group.listeners then listener = listener_of(group, n) end
      if listener then
        call('HSET', keys[n], F.queue, queue, F.state, S.waiting, F.created, now_text, F.input, ARGV[inputs + n], F.listeners, listener)
      else
        call('HSET', keys[n], F.queue, queue, F.state, S.waiting, F.created, now_text, F.input, ARGV[inputs + n])
      end
    end
  end
  verdicts[#verdicts + 1] = 'new ' .. S.waiting .. ' ' .. state.index .. ' ' .. entries[1] .. ' ' .. now_text
  if count > 1 then verdicts[#verdicts + 1] = '+' .. count - 1 end
  state.index = state.index + count
  state.hlc = hlc + count - 1
  state.waiting, state.joined, state.accepted = state.waiting + count, state.joined + count, state.accepted + count
  return true
end

-- Reads a group of which the arguments begin behind the one at a place. Returns it, and the place of its last argument.
local function read_group(at)
  local group = { queue = ARGV[at + 1], limit = tonumber(ARGV[at + 2]), listener = ARGV[at + 3] ~= '' and '.' .. ARGV[at + 3] }
  if ARGV[at + 4] == '' then
    group.class = C.defaultPriority
    at = at + 4
  else
    group.options, group.class, group.delay = true, tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
    group.media, group.query, group.caller, group.most = ARGV[at + 7], ARGV[at + 8], ARGV[at + 9], tonumber(ARGV[at + 10])
    group.dry, group.webhook, group.undo, group.deadline = ARGV[at + 11] == '1', ARGV[at + 12], ARGV[at + 13], tonumber(ARGV[at + 14])
    group.alone = group.dry or group.most or group.delay > 0 or group.webhook ~= '' or group.deadline
    at = at + 14
  end
  local count, more = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]) or 0
  group.count, group.more, group.ids, group.inputs = count, more, at + 2, at + 2 + count
  at = group.inputs + count
  if more % 2 == 1 then group.digests, at = at, at + count end
  if more % 4 > 1 then group.shares, at = at, at + count end
  if more % 8 > 3 then group.keys, at = at, at + count end
  if more % 16 > 7 then group.traces, at = at, at + count end
  if more > 15 then group.listeners, at = at, at + count end
  return group, at
end

local at = 1
for _ = 1, tonumber(ARGV[1]) do
  local group
  group, at = read_group(at)
  local state = seen[group.queue] or queue_state(group.queue)
  if not submit_together(group, state) then submit_each(group, state) end
end

local lines = {}
for n, queue in ipairs(queues) do
  local state = seen[queue]
  if state.accepted > 0 then
    if state.entries then join_line(queue, state) end
    redis.call('HSET', K.queue(queue), Q.hlc, whole(state.hlc), rate_field(R.accepted), counted(state.figures[11], state.accepted))
    -- Whoever has free slots has emptied the line: only its first tasks are news.
    local waiting, joined = state.waiting, state.joined
    if state.limit then waiting, joined = redis.call('ZCARD', K.startable(queue)), state.opened end
    if waiting == joined and joined > 0 then
      redis.call('ZADD', K.wake(queue), 0, '1')
      redis.call('PUBLISH', K.work(queue), C.passedOn)
    end
  end
  lines[n] = snapshot_with(queue, state.figures, state.waiting, state.scheduled, state.limit and redis.call('ZCARD', K.startable(queue)) or nil)
end
return { lines, table.concat(verdicts, '\n') }
