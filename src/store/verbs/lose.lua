-- Reports tasks whose process died under them while the worker lives: the losses count at once, not when the lease ends.
--
-- args[1]  count: number of tasks, each with the eight arguments that follow
-- args[2…] queue, id, fence, lost limit (losses a task survives), problem (stored form of the worker-lost answer), keep (ms),
--          tombstone (ms), dead (ms that dead tasks stay)
-- args[#args] cap: most dead tasks kept of a queue
--
-- Returns a verdict of each: "waiting", "released" (its handler had not begun: no loss is counted), "dead", "canceled", "stale". The
-- same attempt reported again is answered the same.

local function lose(call, cap, queue, id, fence, most_lost, problem, keep, tombstone, dead)
  local key = K.task(call, id)
  local state, run, answers = unpack(redis.call('HMGET', key, F.state, F.run, F.answers))
  local known = Answers.find(answers, A.lose .. fence)
  if known then return known end
  local held_under = Run.parts(run)
  if state ~= S.running or held_under ~= fence then return 'stale' end
  local ends = { most_lost = tonumber(most_lost), problem = problem, keep = keep, tombstone = tombstone, dead = dead, cap = cap }
  local fate = Lease.lose(call, queue, id, ends)
  if fate == 'waiting' or fate == 'released' then Notices.work(call, queue) end
  Answers.note(key, answers, A.lose .. fence, fate)
  return fate
end

register('lose', { 'allow-oom' }, function(keys, args)
  local call, cap, verdicts = Call.new(keys), tonumber(args[#args]), {}
  for n = 1, tonumber(args[1]) do verdicts[n] = lose(call, cap, unpack(args, n * 8 - 6, n * 8 + 1)) end
  Notices.send(call)
  Keyed.tell_freed(call)
  return verdicts
end)
