-- Cancels tasks; of a finished one it destroys the result.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the five arguments that follow
-- ARGV[2…] id, call (a word that only this call has), keep (ms), tombstone (ms), only ("pending" to leave a task alone that has
--          ended, "ended" to leave one alone that has not, "" for neither)
--
-- Returns a verdict of each: "canceled" (it has left the line), "requested" (it is running: its worker is told), "destroyed",
-- "already" (canceled, expired or destroyed by another call), "left" (alone), "unknown".
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run
--#include freed
--#include keyed
--#include input
--#include follow
--#include large
--#include result
--#include notify
--#include finished
--#include settle
--#include fair
--#include share
--#include cancel
--#include answers

local verdicts = {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local id, call, keep, tombstone, only = unpack(ARGV, 2 + n * 5, 6 + n * 5)
  local key = K.task(id)
  local state, queue, destroyed, expires, undo, answers =
    unpack(redis.call('HMGET', key, F.state, F.queue, F.destroyed, F.expires, F.undo, F.answers))
  local known = answered(answers, A.cancel .. call)
  local pending = state == S.running or state == S.waiting or state == S.scheduled or state == S.retrying
  if not state then
    verdicts[n + 1] = 'unknown'
  elseif known then
    verdicts[n + 1] = known
  elseif (only == 'pending' and not pending) or (only == 'ended' and pending) then
    verdicts[n + 1] = 'left'
  elseif pending then
    verdicts[n + 1] = cancel_pending(id, state, queue, C.cancelByCaller, tonumber(keep), tonumber(tombstone))
  elseif state == S.canceled or destroyed or tonumber(expires) <= now then
    verdicts[n + 1] = 'already'
  else
    redis.call('ZREM', K.dead(queue), id)
    -- Of a failed task it was undone when it failed.
    if undo and state == S.succeeded then undo_work(id) end
    drop_result(id, key)
    drop_input(id, key)
    redis.call('UNLINK', K.steps(id), K.output(id))
    redis.call('HDEL', key, F.errors, F.past)
    redis.call('HSET', key, F.destroyed, '1', F.extra, '1')
    notify_destroyed(id)
    verdicts[n + 1] = 'destroyed'
  end
  local changed = verdicts[n + 1] ~= 'already' and verdicts[n + 1] ~= 'left'
  if state and not known and changed then note_answer(key, answers, A.cancel .. call, verdicts[n + 1]) end
end
send_notices()
tell_freed()
return verdicts
