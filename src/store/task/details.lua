-- Details of a task that few callers need, in addition to those of inspect.lua.

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

-- Returns nothing for an unknown task; '' for each text that it does not have. Beside them its input, of a longer one only the length.
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
