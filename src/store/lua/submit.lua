-- Stores tasks and puts them in line.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks
-- ARGV[2]  lines: number of pairs of a queue and a limit that they are for
-- ARGV[3…] queue, limit (most tasks waiting and scheduled) of each pair; then of each task: id, number of its pair from 1,
--          input, digest ("" when the input is stored in the hash), more ("" when everything else has its default, else "1" and
--          the nine that follow): class (0 most urgent … 7), delay (ms), media type ("" for JSON), query ("" for none), caller
--          ("" for none), most (largest index the caller accepts, "" for any), dry ("1" stores nothing), webhook (URL, "" for
--          none), undo ("1" when what the task does can be undone)
--
-- Returns {lines, verdicts}: a line of each queue (see lib/line.lua) as it is afterwards, and of each task
-- "verdict state index score", one string: "new", "replay" (the same submission), "conflict" (another input), "elsewhere" (another
-- queue), "foreign" (another caller's), "full", "long" (index above most), "dry"; index and score "" where there is none.
local base = KEYS[1]
--#include clock
--#include line

local count, pairs_count = tonumber(ARGV[1]), tonumber(ARGV[2])
local verdicts, queues, seen = {}, {}, {}

local function queue_state(queue)
  local state = seen[queue]
  if not state then
    state = {
      hlc = tonumber(redis.call('HGET', base .. 'q:' .. queue, 'hlc') or 0),
      waiting = redis.call('ZCARD', base .. 'w:' .. queue),
      scheduled = redis.call('ZCARD', base .. 'd:' .. queue),
      joined = 0,
      accepted = 0,
      -- By class, how many stand before a newcomer.
      before = {},
      -- Scores and ids that are still to be put in line: all of a call at once.
      entries = {},
    }
    seen[queue] = state
    queues[#queues + 1] = queue
  end
  return state
end

-- How many stand before a newcomer of a class: behind everything of it and before all classes less urgent. Counted once.
local function places_before(queue, state, class)
  if not state.before[class] then
    local before = redis.call('ZCOUNT', base .. 'w:' .. queue, '-inf', '(' .. whole((class + 1) * CLASS))
    for n = 1, #state.entries, 2 do
      if tonumber(state.entries[n]) < (class + 1) * CLASS then before = before + 1 end
    end
    state.before[class] = before
  end
  return state.before[class]
end

local function join_line(queue, state)
  if #state.entries > 0 then redis.call('ZADD', base .. 'w:' .. queue, unpack(state.entries)) end
  state.entries = {}
end

local function known_verdict(known, queue, input, digest, media, query, caller)
  if (known[5] or '') ~= caller then return 'foreign' end
  if known[1] ~= queue then return 'elsewhere' end
  local same = (known[3] or '') == media and (known[4] or '') == query
  if digest == '' then
    same = same and known[2] == input
  else
    same = same and known[6] == digest
  end
  return same and 'replay' or 'conflict'
end

local at = 2
local function argument()
  at = at + 1
  return ARGV[at]
end

local named = {}
for n = 1, pairs_count do named[n] = { argument(), tonumber(argument()) } end
for n = 1, count do
  local id, of_queue, input, digest, more = argument(), named[tonumber(argument())], argument(), argument(), argument()
  local queue, limit = of_queue[1], of_queue[2]
  local class, delay, media, query, caller, most, dry, webhook, undo = 3, 0, '', '', '', nil, false, '', ''
  if more == '1' then
    class, delay, media, query, caller = tonumber(argument()), tonumber(argument()), argument(), argument(), argument()
    most, dry, webhook, undo = tonumber(argument()), argument() == '1', argument(), argument()
  end
  local key = base .. 't:' .. id
  local state = queue_state(queue)

  -- Nearly always it is not there, which EXISTS says for less.
  local known = not dry and redis.call('EXISTS', key) == 1 and redis.call('HMGET', key, 'q', 'i', 'm', 'u', 'z', 'h', 's')
  if known and known[1] then
    -- It may be of this very call.
    for name, of_name in pairs(seen) do join_line(name, of_name) end
    local letter = known[7]
    local rank = letter == 'w' and redis.call('ZRANK', base .. 'w:' .. known[1], id)
    local score = rank and redis.call('ZSCORE', base .. 'w:' .. known[1], id)
    local verdict = known_verdict(known, queue, input, digest, media, query, caller)
    local index = rank and whole(rank) or (letter == 'r' and '0' or '')
    verdicts[n] = verdict .. ' ' .. letter .. ' ' .. index .. ' ' .. (score or '')
  else
    local index = places_before(queue, state, class)
    if dry then
      verdicts[n] = 'dry w ' .. whole(index) .. ' '
    elseif state.waiting + state.scheduled >= limit then
      verdicts[n] = 'full   '
    elseif most and index > most and delay == 0 then
      verdicts[n] = 'long  ' .. whole(index) .. ' '
    else
      local fields = { 'q', queue, 's', delay > 0 and 'd' or 'w', 'c', whole(now) }
      local function put(field, value)
        fields[#fields + 1] = field
        fields[#fields + 1] = value
      end
      if digest == '' then put('i', input) else put('h', digest) end
      if media ~= '' then put('m', media) end
      if query ~= '' then put('u', query) end
      if caller ~= '' then put('z', caller) end
      if delay > 0 then put('o', whole(class * CLASS)) end
      if class ~= 3 then put('O', class) end
      if webhook ~= '' then put('W', webhook) end
      if undo == '1' then put('U', '1') end
      redis.call('HSET', key, unpack(fields))
      if digest ~= '' then redis.call('SET', base .. 'b:' .. id, input) end
      state.accepted = state.accepted + 1
      if delay > 0 then
        redis.call('ZADD', base .. 'd:' .. queue, whole(now + delay), id)
        state.scheduled = state.scheduled + 1
        verdicts[n] = 'new d  '
      else
        state.hlc = tick_hlc(state.hlc)
        local score = whole(class * CLASS + state.hlc)
        state.entries[#state.entries + 1] = score
        state.entries[#state.entries + 1] = id
        for other, before in pairs(state.before) do
          if other >= class then state.before[other] = before + 1 end
        end
        state.waiting = state.waiting + 1
        state.joined = state.joined + 1
        verdicts[n] = 'new w ' .. whole(index) .. ' ' .. score
      end
    end
  end
end

local lines = {}
for n, queue in ipairs(queues) do
  local state = seen[queue]
  if state.joined > 0 then
    join_line(queue, state)
    redis.call('HSET', base .. 'q:' .. queue, 'hlc', whole(state.hlc))
    -- Whoever has free slots has emptied the line: only its first tasks are news.
    if state.waiting == state.joined then redis.call('PUBLISH', base .. 'n:' .. queue, '') end
  end
  if state.accepted > 0 then count_rate(queue, 'a', state.accepted) end
  lines[n] = line_of(queue)
end
return { lines, verdicts }
