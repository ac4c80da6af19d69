-- Work that follows from a task's end has a task of its own, in a queue of the server's own: it is retried, and dies, apart
-- from it. Its id holds a colon, which no caller's can. Needs clock.
local WEBHOOKS = 'paihao.webhooks'
local function enqueue_follower(id, queue, fields)
  local key = base .. 't:' .. id
  if redis.call('EXISTS', key) == 1 then return end
  local hlc = tick_hlc(tonumber(redis.call('HGET', base .. 'q:' .. queue, 'hlc') or 0))
  redis.call('HSET', base .. 'q:' .. queue, 'hlc', whole(hlc))
  redis.call('HSET', key, 'q', queue, 's', 'w', 'c', now_text, unpack(fields))
  redis.call('ZADD', base .. 'w:' .. queue, whole(3 * CLASS + hlc), id)
  redis.call('PUBLISH', base .. 'n:' .. queue, '')
end

-- Tells the task's webhook that it has ended.
local function tell_webhook(id, state, url)
  local input = cjson.encode({ id = id, state = state, url = url })
  enqueue_follower(id .. ':webhook:' .. now_text, WEBHOOKS, { 'i', input })
end

-- Has undone what the task has done: its steps move to the undoing task, its input is copied there.
-- Returns how that one is called: see the field Y in keys.ts.
local function undo_work(id)
  local t = redis.call('HMGET', base .. 't:' .. id, 'q', 'i', 'h', 'm', 'u', 'z', 'f')
  local follower, called = id .. ':undo:' .. t[1], '1'
  -- An earlier task had the same id, and what undoes its work is still there.
  if redis.call('EXISTS', base .. 't:' .. follower) == 1 then
    follower, called = follower .. ':' .. t[7], '2'
  end
  local fields = {}
  for n, field in ipairs({ 'q', 'i', 'h', 'm', 'u', 'z' }) do
    if n > 1 and t[n] then
      fields[#fields + 1] = field
      fields[#fields + 1] = t[n]
    end
  end
  if t[3] then
    -- Without it the undoing fails and becomes a dead letter: a person is to see that.
    local input = redis.call('GET', base .. 'b:' .. id)
    if input then redis.call('SET', base .. 'b:' .. follower, input) end
  end
  if redis.call('EXISTS', base .. 's:' .. id) == 1 then
    redis.call('RENAME', base .. 's:' .. id, base .. 's:' .. follower)
    redis.call('PERSIST', base .. 's:' .. follower)
    fields[#fields + 1] = 'S'
    fields[#fields + 1] = '1'
  end
  enqueue_follower(follower, 'paihao.undo', fields)
  return called
end
