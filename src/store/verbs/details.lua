-- Details of a task that few callers need, in addition to those of inspect.lua.

local ARGS, ANSWER, STEP = Layout.details.args, Layout.details.answer, Layout.details.step

-- The id of the task that undoes the work of another; "" if there is none.
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
    steps[#steps + 1] = { [STEP.name] = page[n], [STEP.stored] = string.sub(stored, 1, step_bytes), [STEP.length] = #stored }
  end
  return length, steps
end

-- Returns "" for each member that it does not have, and only the length of a longer input; for an unknown task "" alone.
register('details', { 'no-writes' }, function(keys, args)
  local call, id, bytes = Call.untimed(keys), args[ARGS.id], tonumber(args[ARGS.bytes])
  local key = K.task(call, id)
  local queue, run, priority, media, query, webhook, undoing, input = unpack(redis.call(
    'HMGET', key, F.queue, F.run, F.priority, F.mediaType, F.query, F.webhook, F.undoing, F.input
  ))
  if not queue then return '' end
  local past, logs = unpack(redis.call('HMGET', K.attempts(call, id), T.past, T.logs))

  local undo = find_undo(call, id, queue, undoing, run)
  -- The steps have moved to the task that undoes them.
  local of = redis.call('EXISTS', K.steps(call, id)) == 0 and undo ~= '' and undo or id
  local length, steps = read_steps(K.steps(call, of), tonumber(args[ARGS.steps]), tonumber(args[ARGS.stepBytes]))
  local given = input or Input.inline(key) or Result.value_or_length(K.input(call, id), bytes)
  return {
    [ANSWER.past] = past or '',
    [ANSWER.logs] = logs or '',
    [ANSWER.priority] = priority or '',
    [ANSWER.mediaType] = media or '',
    [ANSWER.query] = query or '',
    [ANSWER.webhook] = webhook or '',
    [ANSWER.undo] = undo,
    [ANSWER.stepCount] = length,
    [ANSWER.steps] = steps,
    [ANSWER.input] = given or '',
  }
end)
