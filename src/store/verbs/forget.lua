-- Forgets dead tasks, the oldest first: what they hold is destroyed.
--
-- args[1]  queue
-- args[2]  limit: the most in one call
-- args[3]  word: that only this call has
--
-- Returns how many were forgotten; as many as the limit when there may be more.

register('forget', { 'allow-oom' }, function(keys, args)
  local call, queue, limit, word = Call.new(keys), args[1], tonumber(args[2]), args[3]
  local counters = K.queue(call, queue)
  local answers = redis.call('HGET', counters, Q.answers)
  local known = Answers.find(answers, A.forget .. word)
  if known then return tonumber(known) end
  local dead = redis.call('ZPOPMIN', K.dead(call, queue), limit)
  for n = 1, #dead, 2 do Settle.destroy(call, dead[n], K.task(call, dead[n])) end
  if #dead > 0 then Answers.note(counters, answers, A.forget .. word, #dead / 2) end
  Notices.send(call)
  return #dead / 2
end)
