-- Finishes tasks with their results.

-- Its process is what records call the one that completes them, which tells its own listeners of the ends itself. Of each group of tasks with
-- the same queue and times that follow one another come what they have in common, and then the tasks. Returns a verdict of each, in one string
-- with a space between: "done", or "done:attempts:ended" where the process has listeners, "canceled" (cancel was requested: the result is
-- dropped), "already" (finished before under this fence), "stale" (no longer the worker's), "unknown".
register('complete', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local verdicts = Completion.complete(call, args, 0)
  Settle.close(call)
  return verdicts
end)
