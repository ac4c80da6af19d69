-- Cancels tasks; of a finished one it destroys the result.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the four arguments that follow
-- ARGV[2…] id, call (a word that only this call has), keep (ms), tombstone (ms)
--
-- Returns a verdict of each: "canceled" (it has left the line), "requested" (it is running: its worker is told), "destroyed",
-- "already" (canceled, expired or destroyed by another call), "unknown".
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include follow
--#include settle
--#include answers

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local id, call, keep, tombstone = unpack(ARGV, 2 + n * 4, 5 + n * 4)
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 's', 'q', 'g', 'x', 'W', 'U', 'f', 'V')
  local known = answered(t[8], 'c' .. call)
  local state, queue = t[1], t[2]
  if not state then
    verdicts[n + 1] = 'unknown'
  elseif known then
    verdicts[n + 1] = known
  elseif state == 'r' then
    redis.call('HSET', key, 'k', '1')
    redis.call('PUBLISH', base .. 'n:' .. queue, 'cancel ' .. id)
    redis.call('PUBLISH', base .. 'e:' .. id, 'k')
    verdicts[n + 1] = 'requested'
  elseif state == 'w' or state == 'd' or state == 'y' then
    redis.call('ZREM', base .. (state == 'w' and 'w:' or 'd:') .. queue, id)
    -- A fence says that a worker has had it: what it did is undone. One that never began has nothing to undo.
    settle(id, 'c', nil, tonumber(keep), tonumber(tombstone), t[5], t[6] and t[7])
    verdicts[n + 1] = 'canceled'
  elseif state == 'c' or t[3] or tonumber(t[4]) <= now then
    verdicts[n + 1] = 'already'
  else
    redis.call('ZREM', base .. 'x:' .. queue, id)
    -- Of a failed task it was undone when it failed.
    if t[6] and state == 's' then undo_work(id) end
    redis.call('UNLINK', base .. 'r:' .. id, base .. 'b:' .. id, base .. 's:' .. id)
    redis.call('HDEL', key, 'E')
    redis.call('HSET', key, 'g', '1')
    redis.call('PUBLISH', base .. 'e:' .. id, 'g')
    verdicts[n + 1] = 'destroyed'
  end
  if state and not known and verdicts[n + 1] ~= 'already' then note_answer(key, t[8], 'c' .. call, verdicts[n + 1]) end
end
return verdicts
