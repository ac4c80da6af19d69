-- What few callers want to know of a task, in addition to what inspect.lua returns.
--
-- args[1]  id
-- args[2]  most: steps to return
-- args[3]  bytes: the most of an input
-- args[4]  step bytes: the most of what is stored of a step
--
-- Returns {past (see past.lua), run, priority, media type, query, key, webhook, undo ("" or the id of the task that undoes its
-- work), steps (how many there are), {name, stored, length, …}, input}: "" for what it does not have, the length of a longer input. Returns
-- "" for an unknown task.

-- The id of the task that undoes the work of another; "" if there is none.
local function find_undo(call, id, queue, run)
  local fence = string.match(run or '', '^%d+') or ''
  for _, called in ipairs({ '2', '1' }) do
    local undo = Follow.undo_id(id, queue, called, fence)
    if redis.call('EXISTS', K.task(call, undo)) == 1 then return undo end
  end
  return ''
end

-- How many steps there are, and some of them as {name, stored, length, …}.
local function read_steps(key, most, step_bytes)
  local length, steps = redis.call('HLEN', key), {}
  if length == 0 then return length, steps end
  local page = redis.call('HSCAN', key, '0', 'COUNT', most)[2]
  for n = 1, math.min(#page, 2 * most), 2 do
    local stored = page[n + 1]
    steps[#steps + 1] = page[n]
    steps[#steps + 1] = string.sub(stored, 1, step_bytes)
    steps[#steps + 1] = #stored
  end
  return length, steps
end

register('record', { 'no-writes' }, function(keys, args)
  local call, id = Call.untimed(keys), args[1]
  local most, bytes, step_bytes = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  local key = K.task(call, id)
  local queue, past, run, priority, media, query, of_key, share, webhook, undoable, input = unpack(redis.call(
    'HMGET', key, F.queue, F.past, F.run, F.priority, F.mediaType, F.query, F.key, F.share, F.webhook, F.undo, F.input
  ))
  if not queue then return '' end

  local undo = undoable and find_undo(call, id, queue, run) or ''
  -- The steps have gone to the task that undoes them.
  local of = redis.call('EXISTS', K.steps(call, id)) == 0 and undo ~= '' and undo or id
  local length, steps = read_steps(K.steps(call, of), most, step_bytes)
  local given = input or Input.inline(key) or Result.value_or_length(K.input(call, id), bytes)
  return {
    past or '', run or '', priority or '', media or '', query or '', Filter.name(of_key, share), webhook or '', undo, length, steps,
    given or '',
  }
end)
