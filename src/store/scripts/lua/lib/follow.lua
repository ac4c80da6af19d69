-- Work that follows from a task's end has a task of its own, in a queue of the server's own: it is retried, and dies, apart
-- from it. Its id holds a colon, which no caller's can. Needs clock and input.
local WEBHOOKS = C.webhookQueue
local function enqueue_follower(id, queue, fields)
  local key = K.task(id)
  if redis.call('EXISTS', key) == 1 then return end
  local hlc = tick_hlc(tonumber(redis.call('HGET', K.queue(queue), Q.hlc) or 0))
  redis.call('HSET', K.queue(queue), Q.hlc, whole(hlc))
  redis.call('HSET', key, F.queue, queue, F.state, S.waiting, F.created, now_text, F.extra, '1', unpack(fields))
  redis.call('ZADD', K.waiting(queue), whole(C.defaultPriority * CLASS + hlc), id)
  redis.call('PUBLISH', K.work(queue), '')
end

-- Tells the task's webhook that it has ended.
local function tell_webhook(id, state, url)
  local input = cjson.encode({ id = id, state = state, url = url })
  local trace = redis.call('HGET', K.task(id), F.trace)
  enqueue_follower(id .. ':webhook:' .. now_text, WEBHOOKS, trace and { F.input, input, F.trace, trace } or { F.input, input })
end

-- Has undone what the task has done: its steps move to the undoing task, its input is copied there.
-- Returns how that one is called: see the field Y in fields.ts.
local function undo_work(id)
  local queue, digest, run = unpack(redis.call('HMGET', K.task(id), F.queue, F.digest, F.run))
  local fence = run_of(run)
  local follower, called = id .. ':undo:' .. queue, '1'
  -- An earlier task had the same id, and what undoes its work is still there.
  if redis.call('EXISTS', K.task(follower)) == 1 then
    follower, called = follower .. ':' .. fence, '2'
  end
  local fields = {}
  for _, field in ipairs({ F.input, F.digest, F.mediaType, F.query, F.caller, F.trace }) do
    local value = redis.call('HGET', K.task(id), field)
    if value then
      fields[#fields + 1] = field
      fields[#fields + 1] = value
    end
  end
  if redis.call('EXISTS', K.steps(id)) == 1 then
    redis.call('RENAME', K.steps(id), K.steps(follower))
    redis.call('PERSIST', K.steps(follower))
    fields[#fields + 1] = F.stepBytes
    fields[#fields + 1] = '1'
  end
  enqueue_follower(follower, C.undoQueue, fields)
  if digest then
    -- Without it the undoing fails and becomes a dead letter: a person is to see that.
    local input = inline_input(K.task(id)) or redis.call('GET', K.input(id))
    if input then store_input(follower, K.task(follower), input) end
  end
  return called
end
