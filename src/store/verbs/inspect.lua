-- Looks at tasks: each one's state, its place in line and the line itself, all of the same instant.
--
-- args[1]  count: number of tasks, each with the two arguments that follow
-- args[2…] id, result ("1" to have the stored result of a finished task, "0" not to)
--
-- Returns {now, lines, tasks}: ms; a line of each queue (see snapshot.lua); and of each task
-- {"queue state allowed created ended expiry lost cancel-requested destroyed error-code index score due revision deadline held turn",
-- progress, caller, result, last errors, run (see run.lua)} with nothing for what it does not have, "" for an unknown task, or its
-- partition if it is in another one. Of a long result the length, as a number: see look.lua.

register('inspect', { 'no-writes' }, function(keys, args)
  return Look.at(Call.new(keys), args, 1)
end)
