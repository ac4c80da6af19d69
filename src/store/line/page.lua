-- Pages of lists of tasks: of an index of a queue, and of the tasks that finished last.

local function given(value)
  return value ~= '' and value or nil
end

-- A filter, see page.ts; what it leaves out, or has as "", may be anything. `text` is found in either case of ASCII letters, and so is
-- `decomposed`, another form of it.
local function new_filter(call, of)
  return {
    prefix = of.prefix or '',
    text = string.lower(of.text or ''),
    decomposed = of.decomposed and string.lower(of.decomposed),
    caller = given(of.caller),
    key = given(of.key),
    states = given(of.states),
    error = given(of.error),
    with_errors = of.withErrors,
    with_callers = of.withCallers,
    latest = math.min(of.beforeMs or math.huge, of.ageMs and call.now - of.ageMs or math.huge),
  }
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
local function wanted_entry(call, filter, id, score, ended)
  if string.sub(id, 1, #filter.prefix) ~= filter.prefix then return nil end
  local state, caller, created, key, share, run, ended_at, deleted, label = unpack(redis.call(
    'HMGET', K.task(call, id), F.state, F.caller, F.created, F.key, F.share, F.run, F.ended, F.deleted, F.label
  ))
  if ended and (ended_at ~= ended or deleted) then return nil end
  -- The first letter of a stored line key says how it is stored.
  local is_found = filter.text == '' or contains(id, filter) or contains(label or '', filter)
    or contains(string.sub(Line.key_of(key, share), 2), filter)
  local wanted = is_found
    and (not filter.caller or caller == filter.caller)
    and (not filter.key or Line.key_of(key, share) == filter.key)
    and (not filter.states or (state and string.find(filter.states, state, 1, true)))
    and (filter.latest == math.huge or (tonumber(created) or 0) <= filter.latest)
  local error = wanted and (filter.error or filter.with_errors) and error_of(call, id) or ''
  if not wanted or (filter.error and error ~= filter.error) then return nil end
  local retryable = filter.with_errors and state and is_retryable(call, id, state, run) or false
  local told = filter.with_callers and (caller or '') or nil
  return { id = id, score = score, run = run or '', error = error, retryable = retryable, caller = told }
end

-- Entries that are read at a time.
local CHUNK = 200

-- Whether id a comes after id b of the same score: by bytes, as Redis sorts; Lua would compare by the server's locale.
local function is_behind(a, b)
  for n = 1, math.min(#a, #b) do
    local x, y = string.byte(a, n), string.byte(b, n)
    if x ~= y then return x > y end
  end
  return #a > #b
end

-- The rank of the first entry after a place, whose own entry may have left. Any number may have the same score.
local function rank_behind(key, score, id)
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. score), redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_behind(redis.call('ZRANGE', key, middle, middle)[1], id) then high = middle else low = middle + 1 end
  end
  return low
end

-- Returns a page of the tasks of an index that are wanted, in the order of their scores and, where these are equal, of their ids; or in
-- reverse.
register('page', { 'no-writes' }, function(call, asked)
  local after, limit, max, is_newest_first = asked.after, asked.limit, asked.max, asked.isNewestFirst
  local filter, key = new_filter(call, asked.filter), call.base .. asked.index .. asked.queue

  -- The rest comes after the first `rank` entries, or, newest first, before the entry of rank `length`.
  local rank, length = 0, redis.call('ZCOUNT', key, '-inf', asked.lastScore)
  if after then
    local behind = rank_behind(key, after.score, after.id)
    if is_newest_first then
      local own = redis.call('ZSCORE', key, after.id)
      length = math.min(length, own and tonumber(own) == tonumber(after.score) and behind - 1 or behind)
    else
      rank = behind
    end
  end
  local page, looked, last = {}, 0, nil
  while #page < limit and looked < max and rank < length do
    local chunk = math.min(CHUNK, max - looked, length - rank)
    local from = is_newest_first and length - chunk or rank
    local some = redis.call('ZRANGE', key, from, from + chunk - 1, 'WITHSCORES')
    for nth = 1, chunk do
      local n = 2 * (is_newest_first and chunk - nth or nth - 1) + 1
      last, looked = { id = some[n], score = some[n + 1] }, looked + 1
      if is_newest_first then length = length - 1 else rank = rank + 1 end
      local entry = wanted_entry(call, filter, some[n], some[n + 1])
      page[#page + 1] = entry
      if #page == limit then break end
    end
  end
  return { nowMs = call.now, looked = looked, more = rank < length, last = last or cjson.null, entries = page }
end)

-- The start of the page. The last task of the page before may have left the list in the meantime.
local function first_of_page(entries, after)
  if not after then return 1 end
  for n, entry in ipairs(entries) do
    if entry == after.score .. ' ' .. after.id then return n + 1 end
  end
  local time = tonumber(after.score)
  for n, entry in ipairs(entries) do
    if tonumber(string.match(entry, '^%d+')) < time then return n end
  end
  return #entries + 1
end

-- Returns a page of the tasks that finished last, the newest first. Those that have left the store, lost their result, or run again since
-- are left out.
register('finished', { 'no-writes' }, function(call, asked)
  local filter = new_filter(call, asked.filter)
  local entries = redis.call('LRANGE', K.finished(call, asked.queue), 0, C.maxFinished - 1)
  local next, page, looked, last = first_of_page(entries, asked.after), {}, 0, nil
  while #page < asked.limit and looked < asked.max and next <= #entries do
    local at, of = string.match(entries[next], '^(%d+) (.+)$')
    next, looked, last = next + 1, looked + 1, { id = of, score = at }
    page[#page + 1] = wanted_entry(call, filter, of, at, at)
  end
  return { nowMs = call.now, looked = looked, more = next <= #entries, last = last or cjson.null, entries = page }
end)
