-- Copies tasks with all that belongs to each, of one instant: its record, input, result, steps and output, and its places in the
-- indexes.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  most: bytes after which no further task is begun
-- ARGV[2…] id: of a task each
--
-- Returns for each task, in this order, {{key without the base, type, expires (ms; 0 for never), content}, …}: a string itself, the
-- names and values of a hash or the members and scores of a sorted set in turns, or the values of a list. Nothing for an unknown
-- task. Fewer than asked for if they became too long; at least one.
-- flags: no-writes
local base = KEYS[1]
--#include clock

local most, bytes = tonumber(ARGV[1]), 0
local parts

local function add(key, kind, content)
  if not content or (kind ~= 'string' and #content == 0) then return end
  local left = redis.call('PTTL', key)
  parts[#parts + 1] = { string.sub(key, #base + 1), kind, left < 0 and '0' or whole(now + left), content }
  if kind == 'string' then
    bytes = bytes + #content
  else
    for _, value in ipairs(content) do bytes = bytes + #value end
  end
end

-- An entry has no time of its own.
local function enter(key, id)
  local score = redis.call('ZSCORE', key, id)
  if score then parts[#parts + 1] = { string.sub(key, #base + 1), 'zset', '0', { id, score } } end
end

local function copy(id)
  local key = K.task(id)
  add(key, 'hash', redis.call('HGETALL', key))
  if #parts == 0 then return end
  add(K.input(id), 'string', redis.call('GET', K.input(id)))
  add(K.result(id), 'string', redis.call('GET', K.result(id)))
  add(K.steps(id), 'hash', redis.call('HGETALL', K.steps(id)))
  add(K.output(id), 'list', redis.call('LRANGE', K.output(id), 0, -1))
  local queue, of_key = unpack(redis.call('HMGET', key, F.queue, F.key))
  if not queue then return end
  enter(K.waiting(queue), id)
  enter(K.scheduled(queue), id)
  enter(K.leases(queue), id)
  enter(K.dead(queue), id)
  enter(K.deadlines(queue), id)
  enter(K.startable(queue), id)
  -- Behind its arrival stands the name of its key, if it has one: see lib/keyed.lua.
  local name = string.match(of_key or '', '^%d+ (.+)$')
  if name then enter(K.keyLine(queue) .. ' ' .. name, id) end
end

local copies = {}
for n = 2, #ARGV do
  if n > 2 and bytes >= most then break end
  parts = {}
  copy(ARGV[n])
  copies[n - 1] = parts
end
return copies
