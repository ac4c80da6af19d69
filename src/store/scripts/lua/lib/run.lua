-- The last run of a task, in one field: "fence late attempts place worker". All but run_of needs clock.
--   fence     of its reservation; the time when it was given out is in it, see next_fence
--   late      how many ms after that time its handler began; "-" where it was handed back
--   attempts  attempts begun
--   place     in line: its score there, to which a release or a loss returns it; "-" where it has returned
--   worker    the end of the name of its worker, for the report of a loss
-- All of it is about 64 bytes at most, see TASK_FIELDS in fields.ts. It is kept when the task has ended.
local FENCES_A_MS = 10 ^ C.fenceDigits
local WORKER_BYTES = C.workerBytes

-- The fence after `last`, which never goes back, even where the clock was set back.
local function next_fence(last)
  local earliest = (now - EPOCH) * FENCES_A_MS
  return last < earliest and earliest or last + 1
end

-- When a fence was given out, ms.
local function time_of_fence(fence)
  return EPOCH + floor(fence / FENCES_A_MS)
end

local function run_text(fence, late, attempts, place, worker)
  return fence .. ' ' .. late .. ' ' .. attempts .. ' ' .. place .. ' ' .. worker
end

local function end_of_worker(worker)
  return string.sub(worker, -WORKER_BYTES)
end

-- The run that begins with a reservation.
local function new_run(fence, fence_text, attempts, place, worker_end)
  local late = now - EPOCH - (fence - fence % FENCES_A_MS) / FENCES_A_MS
  if late ~= 0 then return run_text(fence_text, whole(late), attempts, place, worker_end) end
  return fence_text .. ' 0 ' .. attempts .. ' ' .. place .. ' ' .. worker_end
end

-- The same of a run that is handed back: the task waits at its old place, and the attempt does not count.
local function handed_back(fence, attempts)
  return fence .. ' - ' .. whole(math.max(0, attempts - 1)) .. ' -'
end

-- Returns fence, late, attempts, place ("-" where it has none) and worker; nothing of a task that was never reserved.
local function run_of(run)
  return string.match(run or '', '^(%d+) (%S+) (%d+) (%S+) ?(.*)$')
end

-- The same of a running task, or of one to be retried, that must return to its place also where its record cannot be read.
--   noted  where that is then; nil for the end of the usual class
local function readable_run(run, noted)
  local fence, late, attempts, place, worker = run_of(run)
  if fence then return fence, late, attempts, place, worker end
  return '0', '-', '1', noted or whole(C.defaultPriority * CLASS + tick_hlc(0)), ''
end

-- When a run began, ms; nil where it was handed back.
local function begun_of(fence, late)
  return tonumber(late) and time_of_fence(fence) + late
end
