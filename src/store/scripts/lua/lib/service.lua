-- What ends of tasks change in the hash of their queue: the count of those that finished, and the statistics of service times. It is
-- read and written once in a call, with what else is needed of it. Needs clock, rate and forecast.
--   Q.service  mean and variance of the latest service times (ms), how many there were, and their total
local SERVICE = C.serviceFormat
local SHORTEST = C.shortestForecastBlock
-- A new time weighs at least this much, so that a mean of many still follows a change.
local LEAST_WEIGHT = C.leastWeight

--   ended  how many tasks
--   times  the service times of those that succeeded
--   lane   nil, or the field of a reservation: it is read as well, before it the four fields that reserve.lua needs
-- Returns what was read, and fields and values that are to be written.
local function note_ends(queue, ended, times, lane)
  local key, rate = K.queue(queue), rate_field(R.finished)
  local q, known, service
  if lane then
    q = redis.call('HMGET', key, Q.paused, Q.fence, Q.keyed, Q.rekey, lane, rate, Q.service)
    known, service = q[6], q[7]
  else
    q = redis.call('HMGET', key, rate, Q.service)
    known, service = q[1], q[2]
  end
  -- With room for the rest of it, and for what the caller adds.
  local writes = { rate, counted(known, ended), nil, nil, nil, nil, nil, nil }
  if #times == 0 then return q, writes end
  local mean, variance, samples, total = 0, 0, 0, 0
  if service then mean, variance, samples, total = struct.unpack(SERVICE, service) end
  local foretold
  for nth = 1, #times do
    local time = times[nth]
    samples, total = samples + 1, total + time
    local weight = 1 / samples
    if weight < LEAST_WEIGHT then weight = LEAST_WEIGHT end
    local distance = time - mean
    mean = mean + weight * distance
    variance = (1 - weight) * (variance + weight * distance * distance)
    if samples % SHORTEST == 0 then
      foretold = foretold or forecast_of(queue, mean)
      foretell(foretold, samples, total, mean)
    end
  end
  if foretold then keep_forecast(queue, foretold) end
  writes[3], writes[4] = Q.service, struct.pack(SERVICE, mean, variance, samples, total)
  return q, writes
end
