-- Queues: their figures, whether work is taken from them, and the names of all with the settings that ticks need, so that any process can
-- maintain a queue whose handler no process has any more.

local whole = Number.whole

local function last_minute(call, key, kind)
  local bucket, total = Rate.bucket(call), 0
  -- The share of the oldest bucket that lies within the minute.
  local share = 1 - call.now % C.bucketMs / C.bucketMs
  -- Later buckets are from before the clock was set back.
  for _, value in ipairs(redis.call('HMGET', key, unpack(Rate.fields(kind)))) do
    total = total + Rate.between(value, bucket - 5, bucket) + share * Rate.between(value, bucket - 6, bucket - 6)
  end
  return math.floor(total + 0.5)
end

local function or_null(stored)
  return stored or cjson.null
end

local function figures(call, queue, snapshots)
  local key = K.queue(call, queue)
  local first = redis.call('ZRANGE', K.waiting(call, queue), 0, 0, 'WITHSCORES')
  local due = tonumber(redis.call('ZRANGE', K.scheduled(call, queue), 0, 0, 'WITHSCORES')[2])
  local rest, declared_rate, set_rate, set_concurrency, declared_total, set_total =
    unpack(redis.call('HMGET', key, Q.rest, Q.rate, Q.setRate, Q.setConcurrency, Q.total, Q.setTotal))
  local created = tonumber(first[1] and redis.call('HGET', K.task(call, first[1]), F.created) or nil)
  local newcomer = first[2] and Fair.is_fair(first[2]) and Fair.before_newcomer(call, queue, C.defaultPriority)
  snapshots[#snapshots + 1] = Snapshot.of(call, queue)
  return {
    dead = redis.call('ZCARD', K.dead(call, queue)),
    oldestWaitingMs = created and math.max(0, call.now - created) or cjson.null,
    -- How long the first scheduled or retrying task has been due.
    lateMs = due and due < call.now and call.now - due or cjson.null,
    acceptedLastMinute = last_minute(call, key, R.accepted),
    finishedLastMinute = last_minute(call, key, R.finished),
    failedLastMinute = last_minute(call, key, R.failed),
    rest = or_null(rest),
    declaredRate = or_null(declared_rate),
    setRate = or_null(set_rate),
    setConcurrency = or_null(tonumber(set_concurrency or nil)),
    declaredTotal = or_null(Total.of(declared_total)),
    setTotal = or_null(tonumber(set_total or nil)),
    longestTurnMs = or_null(Total.longest_turn(declared_total)),
    -- How many tasks of a fair line would be before a newcomer whose line key has nothing waiting.
    newcomer = or_null(tonumber(newcomer or nil)),
  }
end

-- Returns the figures of each queue, and beside them its snapshot.
register('queue', { 'no-writes' }, function(call, asked)
  local snapshots = {}
  return Call.each(call, asked.items, figures, snapshots), snapshots
end)

-- Pauses or resumes a queue. Running tasks go on. Returns nothing.
register('pause', { 'allow-oom' }, function(call, asked)
  local queue = asked.queue
  if asked.paused then
    redis.call('HSET', K.queue(call, queue), Q.paused, '1')
  else
    redis.call('HDEL', K.queue(call, queue), Q.paused)
    Worker.note_need(call, queue)
    Notices.work(call, queue)
    Total.note(call, queue)
    Settle.close(call)
  end
end)

-- Sets what holds a queue in place of what its handler declares: '' changes nothing, '-' takes back what was set. Returns nothing.
register('adjust', { 'allow-oom' }, function(call, asked)
  local queue = asked.queue
  for field, value in pairs({ [Q.setRate] = asked.rate, [Q.setConcurrency] = asked.concurrency, [Q.setTotal] = asked.total }) do
    if value == '-' then
      redis.call('HDEL', K.queue(call, queue), field)
    elseif value ~= '' then
      redis.call('HSET', K.queue(call, queue), field, value)
    end
  end
  Notices.work(call, queue, C.adjusted)
  Total.note(call, queue)
  Settle.close(call)
end)

-- Tells a worker to take no more work of some queues, or to take it again. Returns nothing.
register('quiet', { 'allow-oom' }, function(call, asked)
  for _, queue in ipairs(asked.queues) do
    redis.call('HSET', K.queue(call, queue), Q.quiet .. asked.worker, asked.quiet and '1' or '0')
    Notices.work(call, queue, C.adjusted)
  end
end)

-- Registers the queues of a process. Returns the lease of each, by its field.
local function note(call, queues)
  local own, fields, leases, undeclared = {}, {}, {}, {}
  for n, of in ipairs(queues) do
    local queue, lease = of.queue, of.leaseMs and whole(of.leaseMs)
    local ends = { call.now_text, whole(of.maxLost), whole(of.keepMs), whole(of.tombstoneMs), whole(of.deadMs) }
    local field, declared = 'lease ' .. queue, 'warmup ' .. queue
    own[2 * n - 1], own[2 * n] = queue, table.concat(ends, ' ')
    if lease then
      fields[#fields + 1], fields[#fields + 2] = field, lease
      leases[field] = lease
    else
      undeclared[#undeclared + 1] = field
    end
    for name, value in pairs({ [Q.rate] = of.rate, [Q.total] = of.total }) do
      if value == '' then
        redis.call('HDEL', K.queue(call, queue), name)
      else
        redis.call('HSET', K.queue(call, queue), name, value)
      end
    end
    Total.note(call, queue)
    if of.warmup == '' then
      undeclared[#undeclared + 1] = declared
    else
      fields[#fields + 1], fields[#fields + 2] = declared, of.warmup
    end
  end
  if #queues > 0 then
    redis.call('HSET', K.queues(call), unpack(own))
    if #fields > 0 then redis.call('HSET', K.ticked(call), unpack(fields)) end
    if #undeclared > 0 then redis.call('HDEL', K.ticked(call), unpack(undeclared)) end
  end
  return leases
end

local function holds_tasks(call, queue)
  return redis.call('EXISTS', K.waiting(call, queue), K.scheduled(call, queue), K.leases(call, queue), K.dead(call, queue)) > 0
end

-- Returns the queues, this process's own among them; nothing if they are not requested. A queue without a handler and without tasks is
-- deleted after a time.
register('register', { 'allow-oom' }, function(call, asked)
  local delete_after, leases = asked.deleteAfterMs, note(call, asked.queues)
  Settle.close(call)
  local queues, all = {}, delete_after and redis.call('HGETALL', K.queues(call)) or {}
  for n = 1, #all, 2 do
    local queue, field = all[n], 'lease ' .. all[n]
    local at, max_lost, keep, tombstone, dead = string.match(all[n + 1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
    local silent = call.now - tonumber(at)
    if silent < delete_after or holds_tasks(call, queue) then
      local lease = leases[field] or redis.call('HGET', K.ticked(call), field)
      queues[#queues + 1] = {
        queue = queue,
        maxLost = tonumber(max_lost),
        keepMs = tonumber(keep),
        tombstoneMs = tonumber(tombstone),
        deadMs = tonumber(dead),
        leaseMs = lease and tonumber(lease) or cjson.null,
        silentMs = math.max(0, silent),
      }
    else
      redis.call('HDEL', K.queues(call), queue)
      redis.call('HDEL', K.ticked(call), field, 'warmup ' .. queue, 'back ' .. queue)
    end
  end
  return queues
end)
