-- A page of the tasks of a queue that are wanted, in the order of their scores and, where these are equal, of their ids.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  index: what its keys begin with
-- ARGV[2]  queue
-- ARGV[3]  score: that of the last entry of the page before; "-inf" for the first page
-- ARGV[4]  id: of that entry; "" for the first page
-- ARGV[5]  limit: the most to return
-- ARGV[6]  most: the most entries to look at
-- ARGV[7]  last: the highest score that is wanted; "+inf" for any
-- ARGV[8…] prefix, caller, key, states, before, age: see lib/filter.lua
--
-- Returns {now (ms), looked (number of entries), more ("1" if there are others behind them), {id, score, order} of the last of them
-- (empty if there was none), {{id, score, key, run, order}, …}}. order: the score for comparing with other partitions, see
-- lib/relative.lua.
-- flags: no-writes
local base = KEYS[1]
--#include clock
--#include filter
--#include relative

local CHUNK = 200

local index, queue, score, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, most, last_score = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local key = base .. index .. queue
local wanted = filter(unpack(ARGV, 8, 13))

-- Whether id a stands behind id b of the same score: by bytes, as Redis sorts; Lua would compare by the server's locale.
local function behind(a, b)
  for n = 1, math.min(#a, #b) do
    local x, y = string.byte(a, n), string.byte(b, n)
    if x ~= y then return x > y end
  end
  return #a > #b
end

-- The rank of the first entry behind the page before, whose last one may have left. Any number may have the same score.
local function rank_behind()
  if score == '-inf' then return 0 end
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. score), redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if behind(redis.call('ZRANGE', key, middle, middle)[1], id) then high = middle else low = middle + 1 end
  end
  return low
end

local rank, length = rank_behind(), redis.call('ZCOUNT', key, '-inf', last_score)
local page, looked = {}, 0
local last = {}
local function order_of(entry_score)
  return index == P.waiting and told_score(queue, entry_score) or entry_score
end
while #page < limit and looked < most and rank < length do
  local chunk = math.min(CHUNK, most - looked, length - rank)
  local some = redis.call('ZRANGE', key, rank, rank + chunk - 1, 'WITHSCORES')
  for n = 1, #some, 2 do
    last, rank, looked = { some[n], some[n + 1] }, rank + 1, looked + 1
    local entry = wanted(some[n], some[n + 1])
    if entry then
      entry[5] = order_of(entry[2])
      page[#page + 1] = entry
    end
    if #page == limit then break end
  end
end
if last[1] then last[3] = order_of(last[2]) end
return { now_text, looked, rank < length and '1' or '', last, page }
