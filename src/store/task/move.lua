-- Moves a task that waits: to another priority, to the start or the end of its line, or to another time.

local CLASS, whole = C.classSpan, Number.whole

-- Another priority: it keeps its arrival, in a fair line it goes to the end of its line key.
local function to_class(call, queue, id, share, of_key, class)
  local line, key = K.waiting(call, queue), K.task(call, id)
  local score = tonumber(redis.call('ZSCORE', line, id))
  redis.call('ZREM', line, id)
  local is_shared = share and Fair.is_fair(score)
  -- It refunds the class that the record names.
  if is_shared then Fair.leave(call, queue, id) end
  redis.call('HSET', key, F.priority, class)
  Line.put(call, queue, id, class, score % CLASS, is_shared and share)
  Keyed.decide(call, queue, id, of_key)
end

-- The start of the line: in a class before all others, so also before more urgent tasks that come later. It keeps its arrival, the time since
-- which it has been waiting.
local function to_start(call, queue, id)
  local line = K.waiting(call, queue)
  local own, first = tonumber(redis.call('ZSCORE', line, id)), tonumber(redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2])
  local least = math.min(first, 0)
  if own ~= least then redis.call('ZADD', line, whole((math.floor(least / CLASS) - 1) * CLASS + own % CLASS), id) end
end

-- The end of the line: in the class of the last task, as if it arrived now.
local function to_end(call, queue, id)
  local line = K.waiting(call, queue)
  local last = tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2])
  local class = math.floor(last / CLASS)
  Line.put(call, queue, id, class, Line.next_arrival(call, queue))
end

-- Another time: it leaves the line until then.
local function to_time(call, queue, id, state, of_key, priority, delay)
  if state == S.waiting then
    redis.call('ZREM', K.waiting(call, queue), id)
    redis.call('HSET', K.task(call, id), F.state, S.scheduled, F.place, whole((priority or C.defaultPriority) * CLASS), F.extra, '1')
  end
  redis.call('ZADD', K.scheduled(call, queue), whole(call.now + delay), id)
  Keyed.put(call, queue, id, of_key, Keyed.due_later(call.now + delay))
end

local function move(call, key, asked)
  local id, class, place, not_before = asked.id, asked.priority, asked.place, asked.notBeforeMs
  local delay = not_before and math.max(0, not_before - call.now) or asked.delayMs
  local state, queue, share, of_key, priority, noted, deadline, group =
    unpack(redis.call('HMGET', key, F.state, F.queue, F.share, F.key, F.priority, F.place, F.deadline, F.group))
  if not state then return 'unknown' end
  local is_waiting, has_order = state == S.waiting, share or Keyed.limit(call, queue)
  if not Allowed.move(state) or (place and not is_waiting) then return 'not-waiting' end
  if is_waiting and has_order and not class then return 'ordered' end
  if delay and delay > C.longestDelayMs then return 'far' end
  if delay and deadline and call.now + delay >= tonumber(deadline) then return 'late' end
  if class and is_waiting then
    to_class(call, queue, id, share, of_key, class)
  elseif class then
    -- The fraction says that the task will join a fair line.
    local fraction = string.match(noted or '', '%.5$') or ''
    redis.call('HSET', key, F.priority, class, F.place, whole(class * CLASS) .. fraction)
  elseif delay then
    if delay > 0 or not is_waiting then to_time(call, queue, id, state, of_key, priority, delay) end
  else
    local to = place == 'first' and to_start or to_end
    to(call, queue, id)
  end
  redis.call('HSET', key, F.extra, '1')
  if group then Group.note(call, group, id) end
  Notices.change(call, id, redis.call('HGET', key, F.state))
  return 'moved', true
end

-- Returns "moved", "not-waiting" (it has begun or ended, or should get a place but is not in line), "ordered" (its line has an order of its
-- own: it is fair, keyed or has a limit), "late" (its deadline would pass before), "far" (later than any task may be scheduled for), or
-- "unknown".
register('move', {}, function(call, asked)
  local verdict = Call.once(call, K.task(call, asked.id), F.answers, A.move, move, asked)
  Notices.send(call)
  Keyed.close(call)
  return verdict
end)
