-- The last run of a task, in one field: "fence late attempts place worker". It is kept after the task has ended.
--   fence     of its reservation; the time when it was given out is in it, see Run.next_fence
--   late      how many ms after that time its handler began; with "+" before it if the task was taken ahead of a slot, so that the handler
--             began later, if at all; "-" if it was handed back
--   attempts  attempts begun
--   place     in line: its score there, to which a release or a loss returns it; "-" once it has returned
--   worker    the end of the name of its worker, for the report of a loss
-- All of it is about 64 bytes at most, see TASK_FIELDS in fields.ts.
local Run = {}

local whole = Number.whole
local FENCES_A_MS = 10 ^ C.fenceDigits
local EPOCH_MS = C.epochMs

-- The fence after `last`; fences never go back, even if the clock was set back.
function Run.next_fence(call, last)
  local earliest = (call.now - EPOCH_MS) * FENCES_A_MS
  return last < earliest and earliest or last + 1
end

-- When a fence, also as text, was given out, ms.
local function time_of_fence(fence)
  local exact = fence / FENCES_A_MS
  return EPOCH_MS + exact - exact % 1
end
Run.time_of_fence = time_of_fence

function Run.text(fence, late, attempts, place, worker)
  return fence .. ' ' .. late .. ' ' .. attempts .. ' ' .. place .. ' ' .. worker
end

function Run.end_of_worker(worker)
  return string.sub(worker, -C.workerBytes)
end

-- The run that begins with a reservation.
--   ahead  whether its worker may have no slot for it yet
function Run.new(call, fence, fence_text, attempts, place, worker_end, ahead)
  local late = call.now - EPOCH_MS - (fence - fence % FENCES_A_MS) / FENCES_A_MS
  local late_text = (ahead and '+' or '') .. (late == 0 and '0' or whole(late))
  return fence_text .. ' ' .. late_text .. ' ' .. attempts .. ' ' .. place .. ' ' .. worker_end
end

-- Whether a running task was taken ahead of a slot, and nothing is known of the begin of its handler.
function Run.is_ahead(late)
  return string.sub(late or '', 1, 1) == '+'
end

-- The same of a run that is handed back: the task waits at its old place, and the attempt does not count.
function Run.handed_back(fence, attempts)
  return fence .. ' - ' .. whole(math.max(0, attempts - 1)) .. ' -'
end

-- Returns fence, late, attempts, place ("-" where it has none) and worker; nothing for a task that was never reserved.
local function parts(run)
  return string.match(run or '', '^(%d+) (%S+) (%d+) (%S+) ?(.*)$')
end
Run.parts = parts

-- Whether a task in this state, with this run, is held under a fence.
function Run.is_held(state, run, fence)
  return state == S.running and parts(run) == fence
end

-- The same for a running or retrying task, which must return to its place even if its record cannot be read.
--   noted  the place in that case; nil for the end of the usual class
function Run.readable_parts(call, run, noted)
  local fence, late, attempts, place, worker = parts(run)
  if fence then return fence, late, attempts, place, worker end
  return '0', '-', '1', noted or whole(C.defaultPriority * C.classSpan + Call.next_hlc(call, 0)), ''
end

-- When a run began, ms; nil if it was handed back.
function Run.begun(fence, late)
  return tonumber(late) and time_of_fence(fence) + late
end

return Run
