-- Filters of lists of tasks.
local Filter = {}

-- An entry of a list, see Filter.entry.
local ENTRY = Layout.page.entry

-- Reads a filter from arguments with these names; "" means any:
--   prefix    what their ids begin with
--   text      a part of their ids, labels or line keys, letters of ASCII in either case; decomposed: another form of it
--   caller
--   key       whose share they take, or which others of their key they wait for: as it is stored, see engine/submission/submission.ts
--   states    their letters
--   error     why they failed, see error_of
--   withErrors  "1": entries also say that, and whether the task can be run again
--   beforeMs  created then or earlier
--   ageMs     created at least this long ago
function Filter.read(call, args, names)
  local before, age = tonumber(args[names.beforeMs]), tonumber(args[names.ageMs])
  return {
    prefix = args[names.prefix],
    text = string.lower(args[names.text]),
    decomposed = args[names.decomposed] ~= '' and string.lower(args[names.decomposed]),
    caller = args[names.caller],
    key = args[names.key],
    states = args[names.states],
    error = args[names.error],
    with_errors = args[names.withErrors] == '1',
    latest = math.min(before or math.huge, age and call.now - age or math.huge),
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

-- "1" if a dead task can be run again, else "".
local function retryable(call, id, state, run)
  local key = K.task(call, id)
  return Allowed.refusal_of_retry(call, id, key, redis.call('HGET', key, F.queue), state, run) and '' or '1'
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
    and (filter.caller == '' or caller == filter.caller)
    and (filter.key == '' or Filter.name(key, share) == filter.key)
    and (filter.states == '' or (state and string.find(filter.states, state, 1, true)))
    and (filter.latest == math.huge or (tonumber(created) or 0) <= filter.latest)
  local error = wanted and (filter.error ~= '' or filter.with_errors) and error_of(call, id) or ''
  if not wanted or (filter.error ~= '' and error ~= filter.error) then return nil end
  return {
    [ENTRY.id] = id, [ENTRY.score] = score, [ENTRY.run] = run or '', [ENTRY.error] = error,
    [ENTRY.retryable] = filter.with_errors and state and retryable(call, id, state, run) or '',
  }
end

return Filter
