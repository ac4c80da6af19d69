-- Filters of lists of tasks.
local Filter = {}

local function given(value)
  return value ~= '' and value or nil
end

-- A filter, see line/page.ts; what it leaves out, or has as "", may be anything. `text` is found in either case of ASCII letters, and so is
-- `decomposed`, another form of it.
function Filter.new(call, of)
  return {
    prefix = of.prefix or '',
    text = string.lower(of.text or ''),
    decomposed = of.decomposed and string.lower(of.decomposed),
    caller = given(of.caller),
    key = given(of.key),
    states = given(of.states),
    error = given(of.error),
    with_errors = of.withErrors,
    latest = math.min(of.beforeMs or math.huge, of.ageMs and call.now - of.ageMs or math.huge),
  }
end

-- The name of the share or of the line key of a task, "" for none; of the fields of its record.
function Filter.name(key, share)
  return key and string.match(key, '^%d+ (.*)$') or share and string.match(share, '^%S+ (.*)$') or ''
end

local MAX_ERROR_BYTES = 200

-- Why a task failed, in one line: its error code, then, if its handler threw, a colon, a space and the first line of its last error.
local function error_of(call, id)
  local code, stored = redis.call('HGET', K.task(call, id), F.errorCode), redis.call('HGET', K.attempts(call, id), T.errors)
  local readable, errors = pcall(cjson.decode, stored or '[]')
  local thrown = readable and type(errors) == 'table' and type(errors[1]) == 'string' and errors[1] or ''
  local first = string.match(thrown, '[^\r\n]*')
  local line = string.gsub(string.sub(first, 1, MAX_ERROR_BYTES), '%c', ' ')
  -- A character may have been cut in two.
  if #first > MAX_ERROR_BYTES then line = string.gsub(line, '[\192-\255][\128-\191]*$', '') end
  return (code or '') .. (line == '' and '' or ': ' .. line)
end

-- Whether a dead task can be run again.
local function is_retryable(call, id, state, run)
  local key = K.task(call, id)
  return not Actions.refusal_of_retry(call, id, key, redis.call('HGET', key, F.queue), state, run)
end

local function contains(whole, filter)
  local lower = string.lower(whole)
  return string.find(lower, filter.text, 1, true) or filter.decomposed and string.find(lower, filter.decomposed, 1, true)
end

-- Takes the id and score of an entry, and in a list of finished tasks when its task ended: a task that has since run again or lost its
-- result is not wanted. Returns the entry if the task is wanted, else nil; run (see run.lua) is "" if it has none.
function Filter.entry(call, filter, id, score, ended)
  if string.sub(id, 1, #filter.prefix) ~= filter.prefix then return nil end
  local state, caller, created, key, share, run, ended_at, deleted, label = unpack(redis.call(
    'HMGET', K.task(call, id), F.state, F.caller, F.created, F.key, F.share, F.run, F.ended, F.deleted, F.label
  ))
  if ended and (ended_at ~= ended or deleted) then return nil end
  -- The first letter of a stored line key says how it is stored.
  local is_found = filter.text == '' or contains(id, filter) or contains(label or '', filter)
    or contains(string.sub(Filter.name(key, share), 2), filter)
  local wanted = is_found
    and (not filter.caller or caller == filter.caller)
    and (not filter.key or Filter.name(key, share) == filter.key)
    and (not filter.states or (state and string.find(filter.states, state, 1, true)))
    and (filter.latest == math.huge or (tonumber(created) or 0) <= filter.latest)
  local error = wanted and (filter.error or filter.with_errors) and error_of(call, id) or ''
  if not wanted or (filter.error and error ~= filter.error) then return nil end
  local retryable = filter.with_errors and state and is_retryable(call, id, state, run) or false
  return { id = id, score = score, run = run or '', error = error, retryable = retryable }
end

return Filter
