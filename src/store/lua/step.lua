-- Keeps the value of a durable step of a running task, or reads those kept. At the memory limit too: only a task that can go on
-- makes room.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
-- ARGV[2]  fence
-- ARGV[3]  name: of the step to keep; "" to read them all
-- ARGV[4]  value: JSON
-- ARGV[5]  undo: "1" when the step can be undone
--
-- Returns {"ok", name, value, …} when reading, {"ok"} when kept, {"stale"} when the task is no longer the worker's.
-- flags: allow-oom
local base = KEYS[1]

local id, fence, name, value, undo = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local t = redis.call('HMGET', base .. 't:' .. id, 's', 'f')
if t[1] ~= 'r' or t[2] ~= fence then return { 'stale' } end
if name == '' then
  return { 'ok', unpack(redis.call('HGETALL', base .. 's:' .. id)) }
end
redis.call('HSET', base .. 's:' .. id, name, value)
redis.call('HSET', base .. 't:' .. id, 'S', '1')
if undo == '1' then redis.call('HSET', base .. 't:' .. id, 'U', '1') end
return { 'ok' }
