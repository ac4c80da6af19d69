-- The attempts of a task that did not end it, the newest first: lines of "attempt began ended fate worker error", times in ms, the
-- error cut short. The last attempt of a task that has ended is in the other fields of its record. Needs clock and run.
--   fate  "retrying", "later" (it asked to be run again, and the attempt does not count), "lost" (with its worker), "released" (handed
--         back unfinished), "dead" (of one that was run again), "retried" (no attempt: it was dead, and was run again)
local MOST_PAST, MOST_ERROR_BYTES = 10, 300

local function add_past(key, line)
  local lines = { line }
  for before in string.gmatch(redis.call('HGET', key, F.past) or '', '[^\n]+') do
    if #lines == MOST_PAST then break end
    lines[#lines + 1] = before
  end
  redis.call('HSET', key, F.past, table.concat(lines, '\n'), F.extra, '1')
end

-- Notes that the run of a task, a field of its record, is over.
--   ended  ms, as text; nil for now
local function note_past(key, run, fate, error, ended)
  local fence, late, attempts, _, worker = run_of(run)
  local began = fence and begun_of(fence, late)
  if not began then return end
  local text = string.gsub(string.sub(error or '', 1, MOST_ERROR_BYTES), '%c', ' ')
  -- A character may have been cut in two.
  if error and #error > MOST_ERROR_BYTES then text = string.gsub(text, '[\192-\255][\128-\191]*$', '') end
  worker = worker == '' and '-' or worker
  add_past(key, table.concat({ attempts, whole(began), ended or now_text, fate, worker, text }, ' '))
end
