-- A page of the tasks of a queue, in the order of their scores and, where these are equal, of their ids.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  index: what its keys begin with
-- ARGV[2]  queue
-- ARGV[3]  score: that of the last task of the page before; "-inf" for the first page
-- ARGV[4]  id: of that task; "" for the first page
-- ARGV[5]  limit: the most to return
--
-- Returns {id, score, …}.
-- flags: no-writes
local base = KEYS[1]

local index, queue, score, id, limit = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local key = base .. index .. queue
local page, offset = {}, 0

-- Whether id a stands behind id b of the same score: by bytes, as Redis sorts; Lua would compare by the server's locale.
local function behind(a, b)
  for n = 1, math.min(#a, #b) do
    local x, y = string.byte(a, n), string.byte(b, n)
    if x ~= y then return x > y end
  end
  return #a > #b
end

repeat
  local some = redis.call('ZRANGEBYSCORE', key, score, '+inf', 'WITHSCORES', 'LIMIT', offset, limit + 1)
  for n = 1, #some, 2 do
    -- Tasks of the same millisecond may stand on both sides of the page's end.
    if #page < limit * 2 and (score == '-inf' or tonumber(some[n + 1]) > tonumber(score) or behind(some[n], id)) then
      page[#page + 1] = some[n]
      page[#page + 1] = some[n + 1]
    end
  end
  offset = offset + limit + 1
until #some < (limit + 1) * 2 or #page >= limit * 2
return page
