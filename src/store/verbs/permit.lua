-- Permits to start tasks of a queue in several partitions; they are in the partition that keeps its rate.

local whole = Number.whole
-- Maximum number of permits that are corrected in one call after the clock was set back.
local CORRECT = 1000
local ARGS, ANSWER = Layout.permit.args, Layout.permit.answer

-- Permits as many starts as the rate allows within the span that ends now. A repeated request keeps its permits. Returns how many it has,
-- and for how many ms the rate allows no more.
register('permit', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local queue, request, count = args[ARGS.queue], args[ARGS.request], tonumber(args[ARGS.count])
  local rate, span, used = tonumber(args[ARGS.max]), tonumber(args[ARGS.perMs]), tonumber(args[ARGS.used])
  local permits = K.permits(call, queue)

  redis.call('ZREMRANGEBYSCORE', permits, '-inf', whole(call.now - span))
  -- Entries in the future are from before the clock was set back.
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', permits, '(' .. call.now_text, '+inf', 'LIMIT', 0, CORRECT)) do
    redis.call('ZADD', permits, call.now_text, member)
  end

  local has = 0
  while redis.call('ZSCORE', permits, request .. ' ' .. has + 1) do has = has + 1 end
  if used then
    local full = redis.call('ZCARD', permits) >= rate
    for n = 1, math.max(has, used) do
      if n <= used then
        redis.call('ZADD', permits, call.now_text, request .. ' ' .. n)
      else
        redis.call('ZREM', permits, request .. ' ' .. n)
      end
    end
    -- Others may have been refused in the meantime.
    if full and has > used then Notices.work(call, queue) end
    has = used
  elseif has == 0 then
    has = math.max(0, math.min(count, rate - redis.call('ZCARD', permits)))
    for n = 1, has do redis.call('ZADD', permits, call.now_text, request .. ' ' .. n) end
  end
  if redis.call('EXISTS', permits) == 1 then redis.call('PEXPIRE', permits, whole(span)) end

  local pause = 0
  if has < count and redis.call('ZCARD', permits) >= rate then
    local first = redis.call('ZRANGE', permits, 0, 0, 'WITHSCORES')
    pause = math.max(1, tonumber(first[2]) + span - call.now)
  end
  return { [ANSWER.permits] = has, [ANSWER.pauseMs] = whole(pause) }
end)
