-- What the attempts of a task store: their output, progress and steps; and for operators, in a key of its own, the last errors, the
-- attempts that did not end the task, and logs. The last attempt of an ended task is in the other fields of its record.
local Attempt = {}

local whole = Number.whole
local MAX_ATTEMPTS, MAX_ERROR_BYTES, MAX_ERRORS = 10, 300, 5

-- Keeps something of them, while the task has not ended.
function Attempt.keep(call, id, field, value)
  redis.call('HSET', K.attempts(call, id), field, value)
  redis.call('HSET', K.task(call, id), F.attempts, '1', F.extra, '1')
end

-- The task has ended: it is kept as long as the result.
function Attempt.leave(call, id, retention)
  redis.call('PEXPIRE', K.attempts(call, id), retention.keep)
end

-- Puts a line at the head of the attempts: "attempt began ended outcome worker error", times in ms, the error cut short.
--   outcome  "retrying", "later" (it asked to be run again, and the attempt does not count), "lost" (with its worker), "released" (handed
--         back unfinished), "dead" (of one that was run again), "retried" (no attempt: it was dead, and was run again)
function Attempt.add_past(call, id, line)
  local lines = { line }
  for before in string.gmatch(redis.call('HGET', K.attempts(call, id), T.past) or '', '[^\n]+') do
    if #lines == MAX_ATTEMPTS then break end
    lines[#lines + 1] = before
  end
  Attempt.keep(call, id, T.past, table.concat(lines, '\n'))
end

-- Records that the run of a task, a field of its record, is over.
--   ended  ms, as text; nil for now
function Attempt.note_past(call, id, run, outcome, error, ended)
  local fence, late, attempts, _, worker = Run.parts(run)
  local began = fence and Run.begun(fence, late)
  if not began then return end
  local text = string.gsub(string.sub(error or '', 1, MAX_ERROR_BYTES), '%c', ' ')
  -- A character may have been cut in two.
  if error and #error > MAX_ERROR_BYTES then text = string.gsub(text, '[\192-\255][\128-\191]*$', '') end
  worker = worker == '' and '-' or worker
  Attempt.add_past(call, id, table.concat({ attempts, whole(began), ended or call.now_text, outcome, worker, text }, ' '))
end

-- Puts an error at the head of the task's last errors.
function Attempt.note_error(call, id, text)
  local errors = {}
  local stored = redis.call('HGET', K.attempts(call, id), T.errors)
  if stored then errors = cjson.decode(stored) end
  table.insert(errors, 1, text)
  while #errors > MAX_ERRORS do table.remove(errors) end
  Attempt.keep(call, id, T.errors, cjson.encode(errors))
end

-- The logs that are kept of one task, and the bytes of all.
local MAX_LOGS, MAX_LOG_BYTES = 5, 32768

local function keep_log(call, item)
  local id = item.id
  local state, run = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run))
  if not Run.is_held(state, run, item.fence) then return 'stale' end
  local fence, late, attempts = Run.parts(run)
  local head = attempts .. ' ' .. whole(Run.begun(fence, late) or 0) .. ' '
  local lines = { head .. item.log }
  local bytes = #lines[1]
  for before in string.gmatch(redis.call('HGET', K.attempts(call, id), T.logs) or '', '[^\n]+') do
    bytes = bytes + #before
    if #lines == MAX_LOGS or bytes > MAX_LOG_BYTES then break end
    -- A repeated call replaces what it has stored.
    if string.sub(before, 1, #head) ~= head then lines[#lines + 1] = before end
  end
  Attempt.keep(call, id, T.logs, table.concat(lines, '\n'))
  return 'ok'
end

-- Keeps what running attempts leave: a line of JSON each. Returns a verdict for each: "ok" or "stale".
register('attemptLog', {}, function(call, asked)
  return Call.each(call, asked.items, keep_log)
end)

-- Bytes after which a page of output ends.
local OUTPUT_PAGE = 16384
-- Values that are read at once: few at first, since they may be long.
local FEW, MANY = 4, 256

local function read_page(call, item)
  local key, from = K.output(call, item.id), item.from
  local total = redis.call('LLEN', key)
  local page, bytes, step = {}, 0, FEW
  while from < total and bytes < OUTPUT_PAGE do
    for _, value in ipairs(redis.call('LRANGE', key, from, from + step - 1)) do
      if bytes < OUTPUT_PAGE then page[#page + 1] = value end
      bytes = bytes + #value
    end
    from, step = from + step, math.min(step * 2, MANY)
  end
  return { total = total, values = page }
end

-- Reads output: for each task a page from a place on. Returns for each how many values there are, then those of the page, as they are
-- stored: "run attempt JSON".
register('output', { 'no-writes' }, function(call, asked)
  return Call.each(call, asked.items, read_page)
end)

local function write(call, key, item)
  local id, values = item.id, item.values
  local state, run, stored, restarts, listeners =
    unpack(redis.call('HMGET', key, F.state, F.run, F.output, F.restarts, F.listeners))
  local held_under, _, attempt = Run.parts(run)
  if state ~= S.running or held_under ~= item.fence then return 'stale' end

  local bytes, entries = tonumber(stored or 0), {}
  local head = (restarts or 0) + 1 .. ' ' .. attempt .. ' '
  for n, value in ipairs(values) do
    if bytes + #value > item.maxBytes then break end
    bytes = bytes + #value
    entries[n] = head .. value
  end
  if item.all and #entries < #values then return 0 end

  redis.call('HSET', key, F.output, whole(bytes), F.extra, '1')
  if #entries > 0 then
    redis.call('RPUSH', K.output(call, id), unpack(entries))
    Notices.change(call, id, N.output, listeners)
  end
  return #entries, true
end

-- Appends values to output. Returns for each task "stale", or how many of its values were stored: the first that does not fit and all after
-- it are refused. A repeated call gets the same answer.
register('write', {}, function(call, asked)
  local verdicts = Call.each_once(call, A.write, asked.items, write)
  Notices.send(call)
  return verdicts
end)

local function keep_progress(call, item)
  local id = item.id
  local key = K.task(call, id)
  local state, run, listeners = unpack(redis.call('HMGET', key, F.state, F.run, F.listeners))
  if not Run.is_held(state, run, item.fence) then return 'stale' end
  local percent, message = string.match(item.progress, '^(%S+) (.*)$')
  local fence, late = Run.parts(run)
  local age = call.now - (Run.begun(fence, late) or call.now)
  local total = tonumber(percent) > 0 and math.max(0, age) * 100 / percent or 0
  redis.call('HSET', key, F.progress, percent .. ' ' .. whole(total) .. ' ' .. message, F.extra, '1')
  Notices.change(call, id, N.progress, listeners)
  return 'ok'
end

-- Stores the progress of running tasks. Returns a verdict for each: "ok" or "stale".
register('progress', { 'allow-oom' }, function(call, asked)
  local verdicts = Call.each(call, asked.items, keep_progress)
  Notices.send(call)
  return verdicts
end)

-- A durable step is stored as its number in the order of beginning, a letter ("i" when it can be undone, "u" when it has been, else none),
-- a space, and its value as JSON, which is empty until it is known.

-- Steps of one page: all at once would block Redis for long.
local STEPS_PAGE = 200

-- Reads the steps of a running task, or writes one. Works even at the memory limit, since a task must go on to make room. What it does:
-- "read", "begin" (a step that can be undone), "keep", "undone". Returns the verdict "ok"; when reading, also the cursor of the next page
-- ("0" after the last), and the page: names and steps alternating; "stale" if the task no longer belongs to the worker; "canceled",
-- "deadline" or "abandoned" if a step must not begin because a cancel was requested; "many" or "large" when there is no room for the step.
register('step', { 'allow-oom' }, function(call, asked)
  local id, verb, name = asked.id, asked.verb, asked.name
  local key, steps = K.task(call, id), K.steps(call, id)
  local state, run, cancel, all_bytes = unpack(redis.call('HMGET', key, F.state, F.run, F.cancel, F.stepBytes))
  if not Run.is_held(state, run, asked.fence) then return { verdict = 'stale' } end

  if verb == 'read' then
    local page = redis.call('HSCAN', steps, name, 'COUNT', STEPS_PAGE)
    return { verdict = 'ok', cursor = page[1], page = page[2] }
  end

  local known = redis.call('HGET', steps, name)
  if verb == 'undone' then
    if known then redis.call('HSET', steps, name, (string.gsub(known, '^(%d+)%a? ', '%1u ', 1))) end
    return { verdict = 'ok' }
  end
  if verb == 'begin' and cancel then return { verdict = Deadlines.reason(cancel, 'canceled') } end
  if not known and redis.call('HLEN', steps) >= asked.max then return { verdict = 'many' } end

  local undoable = verb == 'begin' or asked.undo
  local head = known and string.match(known, '^%d+%a? ')
  if not head then head = redis.call('HLEN', steps) .. (undoable and 'i ' or ' ') end
  local stored = verb == 'begin' and (known or head) or head .. (asked.value or '')
  local bytes = tonumber(all_bytes or 0) + #stored - (known and #known or -#name)
  if bytes > asked.bytes then return { verdict = 'large' } end
  redis.call('HSET', steps, name, stored)
  redis.call('HSET', key, F.stepBytes, Number.whole(bytes), F.extra, '1')
  if undoable then redis.call('HSET', key, F.undo, '1') end
  return { verdict = 'ok' }
end)

return Attempt
