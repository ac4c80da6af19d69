-- Forgets dead tasks, the oldest first: what they hold is destroyed.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
-- ARGV[2]  limit: the most in one call
-- ARGV[3]  call: a word that only this call has
--
-- Returns how many were forgotten; as many as the limit when there may be more.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run
--#include input
--#include large
--#include result
--#include answers
--#include notify

local queue, limit, call = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local counters = K.queue(queue)
local answers = redis.call('HGET', counters, Q.answers)
local known = answered(answers, A.forget .. call)
if known then return tonumber(known) end
local dead = redis.call('ZPOPMIN', K.dead(queue), limit)
for n = 1, #dead, 2 do
  local id = dead[n]
  local key = K.task(id)
  drop_result(id, key)
  drop_input(id, key)
  redis.call('UNLINK', K.steps(id), K.output(id))
  if redis.call('EXISTS', key) == 1 then
    redis.call('HDEL', key, F.errors, F.past)
    redis.call('HSET', key, F.destroyed, '1', F.extra, '1')
    notify_destroyed(id)
  end
end
if #dead > 0 then note_answer(counters, answers, A.forget .. call, #dead / 2) end
send_notices()
return #dead / 2
