-- Pages of lists of tasks: of an index of a queue, and of the tasks that finished last.

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
  local filter, key = Filter.new(call, asked.filter), call.base .. asked.index .. asked.queue

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
      local entry = Filter.entry(call, filter, some[n], some[n + 1])
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
  local filter = Filter.new(call, asked.filter)
  local entries = redis.call('LRANGE', K.finished(call, asked.queue), 0, C.maxFinished - 1)
  local next, page, looked, last = first_of_page(entries, asked.after), {}, 0, nil
  while #page < asked.limit and looked < asked.max and next <= #entries do
    local at, of = string.match(entries[next], '^(%d+) (.+)$')
    next, looked, last = next + 1, looked + 1, { id = of, score = at }
    page[#page + 1] = Filter.entry(call, filter, of, at, at)
  end
  return { nowMs = call.now, looked = looked, more = next <= #entries, last = last or cjson.null, entries = page }
end)
