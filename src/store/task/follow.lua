-- Work that follows from a task's end (a webhook, an undo) is a separate task in a queue of the server, with its own retries. Its id has a
-- colon, which a caller's id cannot have.
local Follow = {}

local function enqueue(call, id, queue, fields)
  local key = K.task(call, id)
  if redis.call('EXISTS', key) == 1 then return end
  redis.call('HSET', key, F.queue, queue, F.state, S.waiting, F.created, call.now_text, F.extra, '1', unpack(fields))
  Line.put(call, queue, id, C.defaultPriority, Line.next_arrival(call, queue))
  Notices.work(call, queue)
end

-- Queues the delivery of the task's end to its webhook, or of its call as a turn.
function Follow.tell_webhook(call, id, state, url)
  local fields = { F.input, cjson.encode({ id = id, state = state, url = url }) }
  local trace = redis.call('HGET', K.task(call, id), F.trace)
  if trace then fields[3], fields[4] = F.trace, trace end
  local event = state == S.running and ':webhook:called:' or ':webhook:'
  enqueue(call, id .. event .. call.now_text, Call.own_queue(call, C.webhookQueue), fields)
end

-- The same for the end of a group: "done" or "canceled".
function Follow.tell_group_webhook(call, group, state, url)
  local input = cjson.encode({ group = group, state = state, url = url })
  enqueue(call, group .. ':webhook:group:' .. call.now_text, Call.own_queue(call, C.webhookQueue), { F.input, input })
end

-- The task that undoes the work of another. called: see F.undoing.
function Follow.undo_id(id, queue, called, fence)
  local undo = id .. ':undo:' .. queue
  return called == '2' and undo .. ':' .. fence or undo
end

-- Queues the undo of a task's work: its steps move to the undoing task, its input is copied there. The record then has the form of that
-- task's id: see F.undoing.
function Follow.undo_work(call, id)
  local key = K.task(call, id)
  local queue, digest, run = unpack(redis.call('HMGET', key, F.queue, F.digest, F.run))
  local fence = Run.parts(run)
  local called = '1'
  local undo = Follow.undo_id(id, queue, called, fence)
  -- An earlier task had the same id, and its undo still exists.
  if redis.call('EXISTS', K.task(call, undo)) == 1 then
    called = '2'
    undo = Follow.undo_id(id, queue, called, fence)
  end
  local fields = {}
  for _, field in ipairs({ F.input, F.digest, F.mediaType, F.query, F.caller, F.trace }) do
    local value = redis.call('HGET', key, field)
    if value then
      fields[#fields + 1] = field
      fields[#fields + 1] = value
    end
  end
  if redis.call('EXISTS', K.steps(call, id)) == 1 then
    redis.call('RENAME', K.steps(call, id), K.steps(call, undo))
    redis.call('PERSIST', K.steps(call, undo))
    fields[#fields + 1] = F.stepBytes
    fields[#fields + 1] = '1'
  end
  enqueue(call, undo, Call.own_queue(call, C.undoQueue), fields)
  if digest then
    -- Without an input the undo fails and becomes a dead letter, so that a person sees it.
    local input = Input.inline(key) or redis.call('GET', K.input(call, id))
    if input then Input.store(call, undo, K.task(call, undo), input) end
  end
  redis.call('HSET', key, F.undoing, called)
end

return Follow
