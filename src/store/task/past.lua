-- What the attempts of a task leave for operators, in a key of its own: its last errors, the attempts that did not end it, and logs. The
-- last attempt of an ended task is in the other fields of its record.
local Past = {}

local whole = Number.whole
local MAX_ATTEMPTS, MAX_ERROR_BYTES, MAX_ERRORS = 10, 300, 5

-- Keeps something of them, while the task has not ended.
function Past.keep(call, id, field, value)
  redis.call('HSET', K.attempts(call, id), field, value)
  redis.call('HSET', K.task(call, id), F.attempts, '1', F.extra, '1')
end

-- The task has ended: it is kept as long as the result.
function Past.leave(call, id, stay)
  redis.call('PEXPIRE', K.attempts(call, id), stay.keep)
end

-- Puts a line at the head of the attempts: "attempt began ended fate worker error", times in ms, the error cut short.
--   fate  "retrying", "later" (it asked to be run again, and the attempt does not count), "lost" (with its worker), "released" (handed
--         back unfinished), "dead" (of one that was run again), "retried" (no attempt: it was dead, and was run again)
function Past.add(call, id, line)
  local lines = { line }
  for before in string.gmatch(redis.call('HGET', K.attempts(call, id), T.past) or '', '[^\n]+') do
    if #lines == MAX_ATTEMPTS then break end
    lines[#lines + 1] = before
  end
  Past.keep(call, id, T.past, table.concat(lines, '\n'))
end

-- Records that the run of a task, a field of its record, is over.
--   ended  ms, as text; nil for now
function Past.note(call, id, run, fate, error, ended)
  local fence, late, attempts, _, worker = Run.parts(run)
  local began = fence and Run.begun(fence, late)
  if not began then return end
  local text = string.gsub(string.sub(error or '', 1, MAX_ERROR_BYTES), '%c', ' ')
  -- A character may have been cut in two.
  if error and #error > MAX_ERROR_BYTES then text = string.gsub(text, '[\192-\255][\128-\191]*$', '') end
  worker = worker == '' and '-' or worker
  Past.add(call, id, table.concat({ attempts, whole(began), ended or call.now_text, fate, worker, text }, ' '))
end

-- Puts an error at the head of the task's last errors.
function Past.note_error(call, id, text)
  local errors = {}
  local stored = redis.call('HGET', K.attempts(call, id), T.errors)
  if stored then errors = cjson.decode(stored) end
  table.insert(errors, 1, text)
  while #errors > MAX_ERRORS do table.remove(errors) end
  Past.keep(call, id, T.errors, cjson.encode(errors))
end

return Past
