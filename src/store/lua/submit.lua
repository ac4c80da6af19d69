-- Stores tasks and puts them in line.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the fourteen arguments that follow
-- ARGV[2…] id, queue, class (0 most urgent … 7), delay (ms, "0" for none), input, digest ("" when the input is stored in the
--          hash), media type ("" for JSON), query ("" for none), caller ("" for none), limit (most tasks waiting and
--          scheduled), most (largest index the caller accepts, "" for any), dry ("1" stores nothing), webhook (URL, "" for none),
--          undo ("1" when what the task does can be undone)
--
-- Returns {lines, verdicts}: a line of each queue (see lib/line.lua) as it is afterwards, and of each task
-- {verdict, state, index, score}: "new", "replay" (the same submission), "conflict" (another input), "elsewhere" (another
-- queue), "foreign" (another caller's), "full", "long" (index above most), "dry"; index and score "" where there is none.
local base = KEYS[1]
--#include clock
--#include line

local count = tonumber(ARGV[1])
local ARITY = 14
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
    }
    seen[queue] = state
    queues[#queues + 1] = queue
  end
  return state
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

for n = 0, count - 1 do
  local at = 1 + n * ARITY
  local id, queue, class, delay = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local input, digest, media, query, caller = ARGV[at + 5], ARGV[at + 6], ARGV[at + 7], ARGV[at + 8], ARGV[at + 9]
  local limit, most, dry = tonumber(ARGV[at + 10]), tonumber(ARGV[at + 11]), ARGV[at + 12] == '1'
  local key = base .. 't:' .. id
  local state = queue_state(queue)
  local known = redis.call('HMGET', key, 'q', 'i', 'm', 'u', 'z', 'h', 's')

  if known[1] and not dry then
    local letter = known[7]
    local rank = letter == 'w' and redis.call('ZRANK', base .. 'w:' .. known[1], id)
    local score = rank and redis.call('ZSCORE', base .. 'w:' .. known[1], id)
    verdicts[n + 1] = {
      known_verdict(known, queue, input, digest, media, query, caller),
      letter,
      rank and whole(rank) or (letter == 'r' and '0' or ''),
      score or '',
    }
  else
    -- Behind everything of its own class and before all classes less urgent.
    local index = redis.call('ZCOUNT', base .. 'w:' .. queue, '-inf', '(' .. whole((class + 1) * CLASS))
    if dry then
      verdicts[n + 1] = { 'dry', 'w', whole(index), '' }
    elseif state.waiting + state.scheduled >= limit then
      verdicts[n + 1] = { 'full', '', '', '' }
    elseif most and index > most and delay == 0 then
      verdicts[n + 1] = { 'long', '', whole(index), '' }
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
      if ARGV[at + 13] ~= '' then put('W', ARGV[at + 13]) end
      if ARGV[at + 14] == '1' then put('U', '1') end
      redis.call('HSET', key, unpack(fields))
      if digest ~= '' then redis.call('SET', base .. 'b:' .. id, input) end
      state.accepted = state.accepted + 1
      if delay > 0 then
        redis.call('ZADD', base .. 'd:' .. queue, whole(now + delay), id)
        state.scheduled = state.scheduled + 1
        verdicts[n + 1] = { 'new', 'd', '', '' }
      else
        state.hlc = tick_hlc(state.hlc)
        local score = whole(class * CLASS + state.hlc)
        redis.call('ZADD', base .. 'w:' .. queue, score, id)
        state.waiting = state.waiting + 1
        state.joined = state.joined + 1
        verdicts[n + 1] = { 'new', 'w', whole(index), score }
      end
    end
  end
end

local lines = {}
for n, queue in ipairs(queues) do
  local state = seen[queue]
  if state.joined > 0 then
    redis.call('HSET', base .. 'q:' .. queue, 'hlc', whole(state.hlc))
    -- Whoever has free slots has emptied the line: only its first tasks are news.
    if state.waiting == state.joined then redis.call('PUBLISH', base .. 'n:' .. queue, '') end
  end
  if state.accepted > 0 then count_rate(queue, 'a', state.accepted) end
  lines[n] = line_of(queue)
end
return { lines, verdicts }
