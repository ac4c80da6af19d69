-- How long tasks of a queue waited and ran that ended in an interval, from some of the latest outcomes. Needs clock and run.
local MOST_LOOKED_AT = 64
-- A place in a plain line says when the task joined it. After a burst that may be ahead of the clock: so much, in ms, is no delay.
local LEAST_DELAY_MS = 2000

-- "p50 p95" of some times, in ms; a hyphen each if there are none.
local function percentiles(times)
  local count = #times
  if count == 0 then return '- -' end
  table.sort(times)
  return whole(times[math.ceil(count * 0.5)]) .. ' ' .. whole(times[math.ceil(count * 0.95)])
end

-- When a task joined the line from which it was taken: a scheduled one later than it was created.
local function joined_at(created, place)
  local score = tonumber(place)
  if not score or score % 1 ~= 0 then return created end
  local joined = EPOCH + floor(score % CLASS / 16)
  return joined > created + LEAST_DELAY_MS and joined or created
end

-- Returns "p50 p95" of the service times of those that succeeded, and of the waits of those that ended at their first attempt.
local function percentiles_of(queue, from, span)
  local key = K.finished(queue)
  local length = redis.call('LLEN', key)
  -- The newest is the first: where do those begin that ended before a time?
  local function first_before(time)
    local low, high = 0, length
    while low < high do
      local middle = floor((low + high) / 2)
      local ended = string.match(redis.call('LINDEX', key, middle) or '', '^%d+')
      if ended and tonumber(ended) >= time then low = middle + 1 else high = middle end
    end
    return low
  end
  local first, last = first_before(from + span), first_before(from)
  -- So many have ended since that the list has none of that interval: then the latest.
  if first == last then first, last = 0, length end
  local services, waits = {}, {}
  local step = math.max(1, (last - first) / MOST_LOOKED_AT)
  for n = 0, math.min(MOST_LOOKED_AT, last - first) - 1 do
    local at, id = string.match(redis.call('LINDEX', key, first + floor(n * step)) or '', '^(%d+) (.+)$')
    local t = at and redis.call('HMGET', K.task(id), F.state, F.created, F.ended, F.run)
    local fence, late, attempts, place = run_of(t and t[4])
    local begun = fence and begun_of(fence, late)
    if begun and t[3] == at then
      if t[1] == S.succeeded then services[#services + 1] = math.max(0, at - begun) end
      local created = tonumber(t[2])
      if attempts == '1' and created and t[1] ~= S.canceled then
        waits[#waits + 1] = math.max(0, begun - joined_at(created, place))
      end
    end
  end
  return percentiles(services) .. ' ' .. percentiles(waits)
end
