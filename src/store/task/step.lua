-- The durable steps of a running task: reads them, records that one begins, stores the value of one, records that one is undone. Works even
-- at the memory limit, since a task must go on to make room.
--
-- A step is stored as its number in the order of beginning, a letter ("i" when it can be undone, "u" when it has been, else
-- none), a space, and its value as JSON, which is empty until it is known.

-- Steps of one page: all at once would block Redis for long.
local PAGE = 200

-- The verbs: "read", "begin" (a step that can be undone), "keep", "undone". Returns the verdict "ok"; when reading, also the cursor of the
-- next page ("0" after the last), and the page: names and steps alternating; "stale" if the task no longer belongs to the worker;
-- "canceled", "deadline" or "abandoned" if a step must not begin because a cancel was requested; "many" or "large" when there is no room for
-- the step.
register('step', { 'allow-oom' }, function(call, asked)
  local id, verb, name = asked.id, asked.verb, asked.name
  local key, steps = K.task(call, id), K.steps(call, id)
  local state, run, cancel, all_bytes = unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.stepBytes))
  if not Run.is_held(state, run, asked.fence) then return { verdict = 'stale' } end

  if verb == 'read' then
    local page = redis.call('HSCAN', steps, name, 'COUNT', PAGE)
    return { verdict = 'ok', cursor = page[1], page = page[2] }
  end

  local known = redis.call('HGET', steps, name)
  if verb == 'undone' then
    if known then redis.call('HSET', steps, name, (string.gsub(known, '^(%d+)%a? ', '%1u ', 1))) end
    return { verdict = 'ok' }
  end
  if verb == 'begin' and cancel then return { verdict = Due.reason(cancel, 'canceled') } end
  if not known and redis.call('HLEN', steps) >= asked.max then return { verdict = 'many' } end

  local undoable = verb == 'begin' or asked.undo
  local head = known and string.match(known, '^%d+%a? ')
  if not head then head = redis.call('HLEN', steps) .. (undoable and 'i ' or ' ') end
  local stored = verb == 'begin' and (known or head) or head .. (asked.value or '')
  local bytes = tonumber(all_bytes or 0) + #stored - (known and #known or -#name)
  if bytes > asked.bytes then return { verdict = 'large' } end
  redis.call('HSET', steps, name, stored)
  redis.call('HSET', key, F.stepBytes, Number.whole(bytes), F.extra, '1')
  if undoable then redis.call('HSET', key, F.undo, '1') end
  return { verdict = 'ok' }
end)
