-- The changes of a queue's hash when tasks end: the count of finished tasks, and the statistics of service times. Read and written once in
-- a call, together with the other fields that the call needs.
--   Q.service  mean and variance of the latest service times (ms), how many there were, and their total
local Service = {}

-- Notes the ends of tasks of a queue.
--   ended  how many tasks
--   times  the service times of those that succeeded
--   lane   nil, or the field of a reservation or of a quiet worker, which is then read with the other fields that reserve.lua needs
-- Returns what was read, and the fields and values to write.
function Service.note_ends(call, queue, ended, times, lane)
  local key, rate = K.queue(call, queue), Rate.field(call, R.finished)
  local q, count, service
  if lane then
    q = redis.call('HMGET', key, Q.paused, Q.fence, Q.keyed, Q.rekey, Q.setRate, lane, rate, Q.service)
    count, service = q[7], q[8]
  else
    q = redis.call('HMGET', key, rate, Q.service)
    count, service = q[1], q[2]
  end
  local writes = { rate, Rate.added(call, count, ended) }
  if #times == 0 then return q, writes end
  local mean, variance, samples, total = 0, 0, 0, 0
  if service then mean, variance, samples, total = struct.unpack(C.serviceFormat, service) end
  local forecast
  for nth = 1, #times do
    local time = times[nth]
    samples, total = samples + 1, total + time
    local weight = 1 / samples
    if weight < C.minWeight then weight = C.minWeight end
    local distance = time - mean
    mean = mean + weight * distance
    variance = (1 - weight) * (variance + weight * distance * distance)
    if samples % C.shortestForecastBlock == 0 then
      forecast = forecast or Forecast.read(call, queue, mean)
      Forecast.next_block(forecast, samples, total, mean)
    end
  end
  if forecast then Forecast.write(call, queue, forecast) end
  writes[3], writes[4] = Q.service, struct.pack(C.serviceFormat, mean, variance, samples, total)
  return q, writes
end

return Service
