-- What few callers want to know of a task, in addition to what inspect.lua returns.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
-- ARGV[2]  most: steps to return
-- ARGV[3]  bytes: the most of an input
-- ARGV[4]  step bytes: the most of what is stored of a step
--
-- Returns {past (see lib/past.lua), run, priority, media type, query, key, webhook, undo ("" or the id of the task that undoes its
-- work), steps (how many there are), {name, stored, length, …}, input}: "" for what it does not have, the length of a longer input. Returns
-- "" for an unknown task.
-- flags: no-writes
local base = KEYS[1]
--#include input
--#include large

local id, most, bytes, step_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local key = K.task(id)
local t = redis.call('HMGET', key, F.queue, F.past, F.run, F.priority, F.mediaType, F.query, F.key, F.share, F.webhook, F.undo, F.input)
if not t[1] then return '' end

local undo = ''
if t[10] then
  local fence = string.match(t[3] or '', '^%d+') or ''
  local first = id .. ':undo:' .. t[1]
  local later = first .. ':' .. fence
  if redis.call('EXISTS', K.task(later)) == 1 then
    undo = later
  elseif redis.call('EXISTS', K.task(first)) == 1 then
    undo = first
  end
end

-- They have gone to the task that undoes them.
local of = redis.call('EXISTS', K.steps(id)) == 0 and undo ~= '' and K.steps(undo) or K.steps(id)
local length, steps = redis.call('HLEN', of), {}
if length > 0 then
  local page = redis.call('HSCAN', of, '0', 'COUNT', most)[2]
  for n = 1, math.min(#page, 2 * most), 2 do
    local stored = page[n + 1]
    steps[#steps + 1] = page[n]
    steps[#steps + 1] = string.sub(stored, 1, step_bytes)
    steps[#steps + 1] = #stored
  end
end

local name = t[7] and string.match(t[7], '^%d+ (.*)$') or t[8] and string.match(t[8], '^%S+ (.*)$') or ''
local given = t[11] or inline_input(key) or value_or_length(K.input(id), bytes)
return {
  t[2] or '', t[3] or '', t[4] or '', t[5] or '', t[6] or '', name, t[9] or '', undo, length, steps, given or '',
}
