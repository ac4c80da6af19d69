-- The changes of a queue's hash when tasks end: the count of finished tasks, and the window of the latest service times. Read and written once
-- in a call, together with the other fields that the call needs.
--   Q.service  "samples total times": how many service times there were; of the latest C.window of them, their sum, and they themselves, ms,
--              the oldest first, with a space between. What has left the window is forgotten.
-- Of quick tasks only one in several joins a full window, so that this spans more than a moment and is not written at each end.
local Service = {}

local WINDOW = C.window
-- With one slot, two times of a full window are at most this far apart; at least one in so many tasks is taken.
local APART_MS, LARGEST_STEP = 50, 64

-- One in how many tasks joins a full window with this sum: a power of two, so that it seldom changes, and the next is seldom far.
local function step_of(total)
  local step = 1
  while step < LARGEST_STEP and 2 * step * total <= APART_MS * WINDOW do step = 2 * step end
  return step
end

-- Adds the service times of tasks that have ended to a window; returns nil if none joins.
--   nth  the how-manieth end in its ten seconds the last of them was
local function added(service, times, nth)
  local samples, total, at = string.match(service or '0 0 ', '^(%d+) (%S+) ()')
  samples, total, service = tonumber(samples), tonumber(total), service or ''
  local step = samples < WINDOW and 1 or step_of(total)
  if step > #times and nth % step >= #times then return nil end
  -- The old times that stay are those from `at` on.
  local new = { nil }
  for n = 1, #times do
    if (nth - #times + n) % step == 0 then
      if samples >= WINDOW then
        local oldest, after = string.match(service, '^(%S+) ?()', at)
        if oldest then at = after else oldest = table.remove(new, 1) end
        total = total - oldest
      end
      local time = string.format('%.4g', times[n])
      new[#new + 1] = time
      total, samples = total + time, samples + step
      step = samples < WINDOW and 1 or step_of(total)
    end
  end
  local old = string.sub(service, at)
  return string.format('%d %.10g ', samples, total) .. old .. (old == '' and '' or ' ') .. table.concat(new, ' ')
end

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
  local finished = Rate.added(call, count, ended)
  local writes = { rate, finished }
  local window = #times > 0 and added(service, times, finished)
  if window then writes[3], writes[4] = Q.service, window end
  return q, writes
end

return Service
