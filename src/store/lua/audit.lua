-- Holds tasks against the indexes of their queues, and heals what disagrees: a task belongs in exactly the one that its state
-- names, and an entry belongs to a task.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  kind: "t" for tasks, or the kind of index ("w", "d", "l", "x") whose entries are held against their tasks
-- ARGV[2]  queue: of the index; "" for tasks
-- ARGV[3…] id: of a task or entry each
--
-- Returns the ids of those healed.
local base = KEYS[1]
--#include clock

local HOME = { w = 'w', d = 'd', y = 'd', r = 'l' }
local kind, index_queue = ARGV[1], ARGV[2]
local healed = {}

local function heal_task(id)
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 'q', 's', 'o', 'O')
  local queue, state, score = t[1], t[2], t[3]
  if not queue or not state then return end
  local home, wrong, class = HOME[state], false, tonumber(t[4] or 3)
  for _, index in ipairs({ 'w', 'd', 'l', 'x' }) do
    local there = redis.call('ZSCORE', base .. index .. ':' .. queue, id)
    if index == home and not there then
      wrong = true
      if index == 'w' then
        -- Its place is lost with its entry, unless it was noted: it joins at the end.
        local hlc = tick_hlc(tonumber(redis.call('HGET', base .. 'q:' .. queue, 'hlc') or 0))
        redis.call('HSET', base .. 'q:' .. queue, 'hlc', whole(hlc))
        redis.call('ZADD', base .. 'w:' .. queue, whole(class * CLASS + hlc), id)
        redis.call('PUBLISH', base .. 'n:' .. queue, '')
      else
        -- Due now: a lease is reclaimed, and a task of unknown time does not wait longer.
        if state == 'r' and not score then redis.call('HSET', key, 'o', whole(class * CLASS + tick_hlc(0))) end
        redis.call('ZADD', base .. index .. ':' .. queue, now_text, id)
      end
    elseif there and index ~= home and not (index == 'x' and state == 'f') then
      wrong = true
      redis.call('ZREM', base .. index .. ':' .. queue, id)
    end
  end
  if wrong then healed[#healed + 1] = id end
end

local function heal_entry(id)
  local t = redis.call('HMGET', base .. 't:' .. id, 'q', 's')
  local belongs = t[1] == index_queue and (HOME[t[2]] == kind or (kind == 'x' and t[2] == 'f'))
  if not belongs then
    redis.call('ZREM', base .. kind .. ':' .. index_queue, id)
    healed[#healed + 1] = id
  end
end

for n = 3, #ARGV do
  if kind == 't' then heal_task(ARGV[n]) else heal_entry(ARGV[n]) end
end
return healed
