-- The durable steps of a running task: reads them, notes that one begins, keeps the value of one, notes that one is undone.
-- At the memory limit too: only a task that can go on makes room.
--
-- A step is stored as its number in the order of beginning, a letter ("i" when it can be undone, "u" when it has been, else
-- none), a space, and its value as JSON, which is empty until it is known.
--
-- args[1]  id
-- args[2]  fence
-- args[3]  verb: "read", "begin" (a step that can be undone), "keep", "undone"
-- args[4]  name: of the step; of "read" the cursor of the page, "0" for the first
-- args[5]  value: JSON, of "keep"
-- args[6]  undo: of "keep", "1" when the step can be undone
-- args[7]  most: steps that a task may have
-- args[8]  room: bytes that all its steps may have together
--
-- Returns {"ok"}; when reading {"ok", cursor of the next page ("0" after the last), {name, stored, …}}; {"stale"} when the task is
-- no longer the worker's; {"canceled"} or {"deadline"} when a step is not to begin because cancel was requested; {"many"} or {"large"}
-- when there is no room for the step.

-- A page of steps: all at once would hold up Redis for long.
local PAGE = 200

register('step', { 'allow-oom' }, function(keys, args)
  local call = Call.untimed(keys)
  local id, fence, verb, name, value, undo = unpack(args, 1, 6)
  local most, room = tonumber(args[7]), tonumber(args[8])
  local key, steps = K.task(call, id), K.steps(call, id)
  local state, run, cancel, all_bytes = unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.stepBytes))
  local held_under = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return { 'stale' } end

  if verb == 'read' then
    local page = redis.call('HSCAN', steps, name, 'COUNT', PAGE)
    return { 'ok', page[1], page[2] }
  end

  local known = redis.call('HGET', steps, name)
  if verb == 'undone' then
    if known then redis.call('HSET', steps, name, (string.gsub(known, '^(%d+)%a? ', '%1u ', 1))) end
    return { 'ok' }
  end
  if verb == 'begin' and cancel then return { cancel == C.cancelByDeadline and 'deadline' or 'canceled' } end
  if not known and redis.call('HLEN', steps) >= most then return { 'many' } end

  local undoable = verb == 'begin' or undo == '1'
  local head = known and string.match(known, '^%d+%a? ')
  if not head then head = redis.call('HLEN', steps) .. (undoable and 'i ' or ' ') end
  local stored = verb == 'begin' and (known or head) or head .. value
  local bytes = tonumber(all_bytes or 0) + #stored - (known and #known or -#name)
  if bytes > room then return { 'large' } end
  redis.call('HSET', steps, name, stored)
  redis.call('HSET', key, F.stepBytes, Number.whole(bytes), F.extra, '1')
  if undoable then redis.call('HSET', key, F.undo, '1') end
  return { 'ok' }
end)
