-- Finishes tasks with their results.
--
-- args[1]  process: what records call the one that completes them, which tells its own listeners of the ends itself
-- args[2]  groups: number of those of tasks with the same queue and times that follow one another
-- args[3…] of each group: queue, keep (ms), tombstone (ms), number of its tasks; then of each of these: id, fence, result (its stored
--          form)
--
-- Returns a verdict of each, in one string with a space between: "done", or "done:attempts:ended" where the process has listeners,
-- "canceled" (cancel was requested: the result is dropped), "already" (finished before under this fence), "stale" (no longer the
-- worker's), "unknown".

register('complete', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local verdicts = Completion.complete(call, args, 1)
  Notices.send(call)
  Keyed.tell_freed(call)
  return verdicts
end)
