-- Queues: their figures, and whether work is taken from them.

local whole = Number.whole
local QUEUE, FIGURES = Layout.queue.item, Layout.queue.figures

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

local function figures(call, args, at)
  local queue = args[at + QUEUE.queue]
  local key = K.queue(call, queue)
  local first = redis.call('ZRANGE', K.waiting(call, queue), 0, 0, 'WITHSCORES')
  local due = tonumber(redis.call('ZRANGE', K.scheduled(call, queue), 0, 0, 'WITHSCORES')[2])
  local rest, declared_rate, set_rate, set_concurrency =
    unpack(redis.call('HMGET', key, Q.rest, Q.rate, Q.setRate, Q.setConcurrency))
  local created = tonumber(first[1] and redis.call('HGET', K.task(call, first[1]), F.created) or nil)
  return {
    [FIGURES.snapshot] = Snapshot.of(call, queue),
    [FIGURES.dead] = redis.call('ZCARD', K.dead(call, queue)),
    [FIGURES.oldestMs] = created and whole(math.max(0, call.now - created)) or '',
    -- How long the first scheduled or retrying task has been due.
    [FIGURES.lateMs] = due and due < call.now and whole(call.now - due) or '',
    [FIGURES.accepted] = last_minute(call, key, R.accepted),
    [FIGURES.finished] = last_minute(call, key, R.finished),
    [FIGURES.failed] = last_minute(call, key, R.failed),
    [FIGURES.rest] = rest or '',
    [FIGURES.declaredRate] = declared_rate or '',
    [FIGURES.setRate] = set_rate or '',
    [FIGURES.setConcurrency] = set_concurrency or '',
    -- How many tasks of a fair line would be before a newcomer whose line key has nothing waiting.
    [FIGURES.newcomer] = first[2] and Fair.is_fair(first[2]) and Fair.before_newcomer(call, queue, C.defaultPriority) or '',
  }
end

-- Returns the figures of each queue; "" for those that it does not have.
register('queue', { 'no-writes' }, function(keys, args)
  return Call.each(Call.new(keys), args, Layout.queue, figures)
end)

-- Pauses or resumes a queue. Running tasks go on. Returns nothing.
register('pause', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.pause.args
  local queue = args[ARGS.queue]
  if args[ARGS.paused] == '1' then
    redis.call('HSET', K.queue(call, queue), Q.paused, '1')
  else
    redis.call('HDEL', K.queue(call, queue), Q.paused)
    Warmup.note_need(call, queue)
    Notices.work(call, queue)
  end
end)

-- Sets what holds a queue in place of what its handler declares: '' changes nothing, '-' takes back what was set. Returns nothing.
register('adjust', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.adjust.args
  local queue = args[ARGS.queue]
  for field, value in pairs({ [Q.setRate] = args[ARGS.rate], [Q.setConcurrency] = args[ARGS.concurrency] }) do
    if value == '-' then
      redis.call('HDEL', K.queue(call, queue), field)
    elseif value ~= '' then
      redis.call('HSET', K.queue(call, queue), field, value)
    end
  end
  Notices.work(call, queue, C.adjusted)
end)

-- Tells a worker to take no more work of some queues, or to take it again. Returns nothing.
register('quiet', { 'allow-oom' }, function(keys, args)
  local call, ARGS = Call.new(keys), Layout.quiet.args
  for n = ARGS.count + 1, #args do
    redis.call('HSET', K.queue(call, args[n]), Q.quiet .. args[ARGS.worker], args[ARGS.quiet] == '1' and '1' or '0')
    Notices.work(call, args[n], C.adjusted)
  end
end)
