-- The answers about tasks, see inspect.lua.
local Inspection = {}

local ITEM, ANSWER, TASK = Layout.inspect.item, Layout.inspect.answer, Layout.inspect.task

local whole = Number.whole
-- Maximum bytes of a result in an answer.
local INSIDE = 4096
local QUEUE, STATE, CREATED, EXTRA, RUN = F.queue, F.state, F.created, F.extra, F.run
local task_key = K.task

-- The index of a task, and when it is due; "" for each that it does not have.
local function place_of(call, queue, state, id)
  if state == S.waiting then
    local rank = redis.call('ZRANK', K.waiting(call, queue), id)
    return rank and whole(rank) or '', ''
  end
  if state == S.scheduled or state == S.retrying then
    return '', redis.call('ZSCORE', K.scheduled(call, queue), id) or ''
  end
  return state == S.running and '0' or '', ''
end

-- Returns the facts of a task, separated by spaces, "" for each that it does not have: see FACTS in verbs/inspect.ts; for a long result its
-- length, as a number. For an unknown task "".
local function inspect(call, args, at, seen)
  local id = args[at + ITEM.id]
  local key = task_key(call, id)
  local queue, state, created, extra, run = unpack(redis.call('HMGET', key, QUEUE, STATE, CREATED, EXTRA, RUN))
  if not state then return '' end
  if not seen.queues[queue] then
    seen.queues[queue] = true
    seen.snapshots[#seen.snapshots + 1] = Snapshot.of(call, queue)
  end
  local index, due = place_of(call, queue, state, id)
  local facts
  local place = ' ' .. index .. ' ' .. due
  local progress, caller = '', ''
  local cancel, deleted, expires, first
  if extra or state == S.failed then
    local t = redis.call(
      'HMGET', key, F.ended, F.expires, F.lost, F.cancel, F.deleted, F.errorCode, F.revision, F.progress, F.caller,
      F.result, F.deadline, F.key, F.original, F.again, F.presenceMs, F.group
    )
    expires, cancel, deleted, first = t[2], t[4], t[5], t[10]
    local deadline, of_key, presence = t[11] or '', t[12], t[15]
    for field = 1, 9 do t[field] = t[field] or '' end
    local held = of_key and Keyed.is_full(call, queue, id, state, of_key) and '1' or ''
    -- It has an entry until it ends; a member has that of its group.
    local entry = id
    if t[16] then
      local owner, of_group = unpack(redis.call('HMGET', K.group(call, t[16]), G.caller, G.presenceMs))
      entry, presence = Due.entry_of_group(t[16]), owner == t[9] and of_group
    end
    local present = presence and redis.call('ZSCORE', K.deadlines(call, queue), entry) or ''
    facts = ' ' .. table.concat(t, ' ', 1, 6) .. place .. ' ' .. t[7] .. ' ' .. deadline .. ' ' .. held
    facts = facts .. ' ' .. (t[13] or '') .. ' ' .. (t[14] or '') .. ' ' .. (presence or '') .. ' ' .. present .. ' ' .. (t[16] or '')
    if of_key and index ~= '' and state == S.waiting and Keyed.limit(call, queue) then
      facts = facts .. ' ' .. Keyed.turn(call, queue, id, of_key, redis.call('ZSCORE', K.waiting(call, queue), id))
    end
    progress, caller = t[8], t[9]
  elseif state == S.waiting or state == S.scheduled then
    -- A task without rare fields has never been out of the line for longer than a release.
    facts = '      ' .. place .. '  '
  else
    local t = redis.call('HMGET', key, F.ended, F.expires, F.result)
    expires, first = t[2], t[3]
    facts = ' ' .. (t[1] or '') .. ' ' .. (expires or '') .. '    ' .. place .. '  '
  end
  local result, errors = '', ''
  if expires and args[at + ITEM.result] == '1' then
    -- A result in the hash may still be there after it has expired.
    if (tonumber(expires) or call.now + 1) > call.now then result = Result.read(call, id, key, first, INSIDE) end
    if state == S.failed then errors = redis.call('HGET', key, F.errors) or '' end
  end
  local allowed = Allowed.list(call, id, key, queue, state, run, cancel, deleted, expires)
  facts = queue .. ' ' .. state .. ' ' .. allowed .. ' ' .. (created or '') .. facts
  local found = { nil, nil, nil, nil, nil, nil }
  found[TASK.facts], found[TASK.progress], found[TASK.caller] = facts, progress, caller
  found[TASK.result], found[TASK.errors], found[TASK.run] = result, errors, run or ''
  return found
end

--   layout  of the verb, which has the items of inspect.lua
function Inspection.of(call, args, layout)
  -- The queues found so far.
  local seen = { queues = {}, snapshots = {} }
  local tasks = Call.each(call, args, layout, inspect, seen)
  return { [ANSWER.nowMs] = call.now_text, [ANSWER.snapshots] = seen.snapshots, [ANSWER.tasks] = tasks }
end

return Inspection
