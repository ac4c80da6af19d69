-- Runs dead tasks again: each goes to the end of its class with fresh attempts. What was to undo its work is taken back as long
-- as it has not begun: its steps return to the task, which goes on behind them.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the two arguments that follow
-- ARGV[2…] id, call (a word that only this call has)
--
-- Returns a verdict of each: "waiting", "not-dead" (in any other state, or its input is gone), "undone" (its work has been undone,
-- or is just being undone), "unknown".
local base = KEYS[1]
--#include clock
--#include answers

-- The task that undoes the work of another, where there is one and no worker has had it.
local function waiting_undo(id, queue, called, fence)
  local undo = id .. ':undo:' .. queue
  if called == '2' then undo = undo .. ':' .. fence end
  local u = redis.call('HMGET', base .. 't:' .. undo, 's', 'f')
  return u[1] == 'w' and not u[2] and undo
end

local function take_back(id, undo)
  redis.call('ZREM', base .. 'w:paihao.undo', undo)
  redis.call('UNLINK', base .. 't:' .. undo, base .. 'b:' .. undo)
  if redis.call('EXISTS', base .. 's:' .. undo) == 1 then redis.call('RENAME', base .. 's:' .. undo, base .. 's:' .. id) end
  redis.call('HDEL', base .. 't:' .. id, 'Y')
end

local verdicts, woken = {}, {}
for n = 1, tonumber(ARGV[1]) do
  local id, call = ARGV[n * 2], ARGV[n * 2 + 1]
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 'q', 's', 'h', 'O', 'V', 'Y', 'f')
  local known = answered(t[5], 't' .. call)
  local queue = t[1]
  local undo = t[6] and waiting_undo(id, queue, t[6], t[7])
  if not queue then
    verdicts[n] = 'unknown'
  elseif known then
    verdicts[n] = known
  elseif t[2] ~= 'f' or not redis.call('ZSCORE', base .. 'x:' .. queue, id)
    or (t[3] and redis.call('EXISTS', base .. 'b:' .. id) == 0) then
    verdicts[n] = 'not-dead'
  elseif t[6] and not undo then
    verdicts[n] = 'undone'
  else
    -- The fence says that a worker has had it: as long as its work stands, a cancel has it undone and its input stays.
    if undo then take_back(id, undo) else redis.call('HDEL', key, 'f') end
    local hlc = tick_hlc(tonumber(redis.call('HGET', base .. 'q:' .. queue, 'hlc') or 0))
    redis.call('HSET', base .. 'q:' .. queue, 'hlc', whole(hlc))
    redis.call('HDEL', key, 'a', 'l', 'N', 'e', 'x', 'y', 'E', 'b')
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
