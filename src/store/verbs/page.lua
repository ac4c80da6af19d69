-- A page of the tasks of a queue that are wanted, in the order of their scores and, where these are equal, of their ids, or in reverse.
--
-- args[1]  index: what its keys begin with
-- args[2]  queue
-- args[3]  score: that of the last entry of the page before; "-inf" for the first page
-- args[4]  id: of that entry; "" for the first page
-- args[5]  limit: the most to return
-- args[6]  most: the most entries to look at
-- args[7]  last: the highest score that is wanted; "+inf" for any
-- args[8]  newest: "1" for the reverse order, else ""
-- args[9…] prefix, caller, key, states, before, age: see filter.lua
--
-- Returns {now (ms), looked (number of entries), more ("1" if there are others behind them), {id, score, order} of the last of them
-- (empty if there was none), {{id, score, key, run, order}, …}}. order: the score for comparing with other partitions, see
-- Fair.told_score.

-- Entries that are read at a time.
local CHUNK = 200

-- Whether id a stands behind id b of the same score: by bytes, as Redis sorts; Lua would compare by the server's locale.
local function is_behind(a, b)
  for n = 1, math.min(#a, #b) do
    local x, y = string.byte(a, n), string.byte(b, n)
    if x ~= y then return x > y end
  end
  return #a > #b
end

-- The rank of the first entry behind a place, whose own one may have left. Any number may have the same score.
local function rank_behind(key, score, id)
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. score), redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_behind(redis.call('ZRANGE', key, middle, middle)[1], id) then high = middle else low = middle + 1 end
  end
  return low
end

register('page', { 'no-writes' }, function(keys, args)
  local call = Call.new(keys)
  local index, queue, score, id = args[1], args[2], args[3], args[4]
  local limit, most, last_score = tonumber(args[5]), tonumber(args[6]), args[7]
  local is_newest_first = args[8] == '1'
  local filter, key = Filter.read(call, args, 9), call.base .. index .. queue
  local function order_of(entry_score)
    return index == P.waiting and Fair.told_score(call, queue, entry_score) or entry_score
  end

  -- What is left lies behind the first `rank` entries, or, newest first, before the entry of rank `length`.
  local rank, length = 0, redis.call('ZCOUNT', key, '-inf', last_score)
  if id ~= '' then
    local behind = rank_behind(key, score, id)
    if is_newest_first then
      local own = redis.call('ZSCORE', key, id)
      length = math.min(length, own and tonumber(own) == tonumber(score) and behind - 1 or behind)
    else
      rank = behind
    end
  end
  local page, looked, last = {}, 0, {}
  while #page < limit and looked < most and rank < length do
    local chunk = math.min(CHUNK, most - looked, length - rank)
    local from = is_newest_first and length - chunk or rank
    local some = redis.call('ZRANGE', key, from, from + chunk - 1, 'WITHSCORES')
    for nth = 1, chunk do
      local n = 2 * (is_newest_first and chunk - nth or nth - 1) + 1
      last, looked = { some[n], some[n + 1] }, looked + 1
      if is_newest_first then length = length - 1 else rank = rank + 1 end
      local entry = Filter.entry(call, filter, some[n], some[n + 1])
      if entry then
        entry[5] = order_of(entry[2])
        page[#page + 1] = entry
      end
      if #page == limit then break end
    end
  end
  if last[1] then last[3] = order_of(last[2]) end
  return { call.now_text, looked, rank < length and '1' or '', last, page }
end)
