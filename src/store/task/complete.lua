-- Finishes tasks with their results.

-- The process is the name in records of the process that completes them, which notifies its own listeners itself. For each group of
-- consecutive tasks with the same queue and times, the shared values come first, then the tasks. Returns a verdict of each, in one string
-- with a space between: "done", or "done:attempts:ended" if the process has listeners, "canceled" (cancel was requested: the result is
-- dropped), "already" (finished before under this fence), "stale" (it no longer belongs to the worker), "unknown".
register_hot('complete', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local verdicts = Completion.complete(call, args, 0)
  Settle.close(call)
  return verdicts
end)
