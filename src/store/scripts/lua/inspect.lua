-- Looks at tasks: each one's state, its place in line and the line itself, all of the same instant.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1…] count: number of tasks; of each id, result ("1" to have the stored result of a finished task, "0" not to)
--
-- Returns {now, lines, tasks}: ms; a line of each queue (see lib/snapshot.lua); and of each task
-- {"queue state created ended expiry lost cancel-requested destroyed error-code index score due revision deadline held turn",
-- progress, caller, result, last errors, run (see lib/run.lua)} with nothing for what it does not have, "" for an unknown task, or its partition if it is in another one. Of a result longer
-- than INSIDE the length, as a number: see lib/large.lua.
-- flags: no-writes
local base = KEYS[1]
--#include clock
--#include run when called
--#include freed keyed when called
--#include snapshot
--#include large
--#include result
--#include relative
--#include look

return look(ARGV, 1)
