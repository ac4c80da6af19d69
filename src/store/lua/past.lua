-- The past of a task: its last errors, and the attempts that did not end it. The last attempt of an ended task is in the other fields of
-- its record.
local Past = {}

local whole = Number.whole
local MAX_ATTEMPTS, MAX_ERROR_BYTES, MAX_ERRORS = 10, 300, 5

-- Puts a line at the head of the attempts: "attempt began ended fate worker error", times in ms, the error cut short.
--   fate  "retrying", "later" (it asked to be run again, and the attempt does not count), "lost" (with its worker), "released" (handed
--         back unfinished), "dead" (of one that was run again), "retried" (no attempt: it was dead, and was run again)
function Past.add(key, line)
  local lines = { line }
  for before in string.gmatch(redis.call('HGET', key, F.past) or '', '[^\n]+') do
    if #lines == MAX_ATTEMPTS then break end
    lines[#lines + 1] = before
  end
  redis.call('HSET', key, F.past, table.concat(lines, '\n'), F.extra, '1')
end

-- Records that the run of a task, a field of its record, is over.
--   ended  ms, as text; nil for now
function Past.note(call, key, run, fate, error, ended)
  local fence, late, attempts, _, worker = Run.parts(run)
  local began = fence and Run.begun(fence, late)
  if not began then return end
  local text = string.gsub(string.sub(error or '', 1, MAX_ERROR_BYTES), '%c', ' ')
  -- A character may have been cut in two.
  if error and #error > MAX_ERROR_BYTES then text = string.gsub(text, '[\192-\255][\128-\191]*$', '') end
  worker = worker == '' and '-' or worker
  Past.add(key, table.concat({ attempts, whole(began), ended or call.now_text, fate, worker, text }, ' '))
end

-- Puts an error at the head of the task's last errors.
function Past.note_error(key, text)
  local errors = {}
  local stored = redis.call('HGET', key, F.errors)
  if stored then errors = cjson.decode(stored) end
  table.insert(errors, 1, text)
  while #errors > MAX_ERRORS do table.remove(errors) end
  redis.call('HSET', key, F.errors, cjson.encode(errors))
end

return Past
