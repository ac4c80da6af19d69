-- Runs dead tasks again: each goes to the end of its class with fresh attempts.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the two arguments that follow
-- ARGV[2…] id, call (a word that only this call has)
--
-- Returns a verdict of each: "waiting", "not-dead" (in any other state, or its input is gone), "unknown".
local base = KEYS[1]
--#include clock
--#include answers

local verdicts, woken = {}, {}
for n = 1, tonumber(ARGV[1]) do
  local id, call = ARGV[n * 2], ARGV[n * 2 + 1]
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 'q', 's', 'h', 'O', 'V')
  local known = answered(t[5], 't' .. call)
  local queue = t[1]
  if not queue then
    verdicts[n] = 'unknown'
  elseif known then
    verdicts[n] = known
  elseif t[2] ~= 'f' or not redis.call('ZSCORE', base .. 'x:' .. queue, id)
    or (t[3] and redis.call('EXISTS', base .. 'b:' .. id) == 0) then
    verdicts[n] = 'not-dead'
  else
    local hlc = tick_hlc(tonumber(redis.call('HGET', base .. 'q:' .. queue, 'hlc') or 0))
    redis.call('HSET', base .. 'q:' .. queue, 'hlc', whole(hlc))
    redis.call('HDEL', key, 'a', 'l', 'e', 'x', 'y', 'E', 'b', 'f')
    redis.call('HSET', key, 's', 'w')
    redis.call('PERSIST', key)
    redis.call('PERSIST', base .. 'b:' .. id)
    redis.call('PERSIST', base .. 's:' .. id)
    redis.call('UNLINK', base .. 'r:' .. id)
    redis.call('ZREM', base .. 'x:' .. queue, id)
    redis.call('ZADD', base .. 'w:' .. queue, whole(tonumber(t[4] or 3) * CLASS + hlc), id)
    redis.call('PUBLISH', base .. 'e:' .. id, 'w')
    woken[queue] = true
    verdicts[n] = 'waiting'
    note_answer(key, t[5], 't' .. call, 'waiting')
  end
end
for queue in pairs(woken) do redis.call('PUBLISH', base .. 'n:' .. queue, '') end
return verdicts
