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
  local key = K.task(id)
  local t = redis.call('HMGET', key, F.state, F.queue, F.destroyed, F.expires, F.webhook, F.undo, F.fence, F.answers)
  local known = answered(t[8], A.cancel .. call)
  local state, queue = t[1], t[2]
  if not state then
    verdicts[n + 1] = 'unknown'
  elseif known then
    verdicts[n + 1] = known
  elseif state == S.running then
    redis.call('HSET', key, F.cancel, '1')
    redis.call('PUBLISH', K.work(queue), 'cancel ' .. id)
    redis.call('PUBLISH', K.changes(id), N.cancelRequested)
    verdicts[n + 1] = 'requested'
  elseif state == S.waiting or state == S.scheduled or state == S.retrying then
    redis.call('ZREM', base .. (state == S.waiting and P.waiting or P.scheduled) .. queue, id)
    -- A fence says that a worker has had it: what it did is undone. One that never began has nothing to undo.
    settle(id, S.canceled, nil, tonumber(keep), tonumber(tombstone), t[5], t[6] and t[7])
    verdicts[n + 1] = 'canceled'
  elseif state == S.canceled or t[3] or tonumber(t[4]) <= now then
    verdicts[n + 1] = 'already'
  else
    redis.call('ZREM', K.dead(queue), id)
    -- Of a failed task it was undone when it failed.
    if t[6] and state == S.succeeded then undo_work(id) end
    redis.call('UNLINK', K.result(id), K.input(id), K.steps(id))
    redis.call('HDEL', key, F.errors)
    redis.call('HSET', key, F.destroyed, '1')
    redis.call('PUBLISH', K.changes(id), N.destroyed)
    verdicts[n + 1] = 'destroyed'
  end
  if state and not known and verdicts[n + 1] ~= 'already' then note_answer(key, t[8], A.cancel .. call, verdicts[n + 1]) end
end
return verdicts
