-- Finishes tasks with their results.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1…] process: what records call the one that completes them, which tells its own listeners of the ends itself; groups: number of those of tasks with the same queue and times that follow one another; then of each group:
--          queue, keep (ms), tombstone (ms), number of its tasks; then of each of these: id, fence, result (its stored form)
--
-- Returns a verdict of each, in one string with a space between: "done", or "done:attempts:ended" where the process has listeners, "canceled" (cancel was requested: the result is dropped),
-- "already" (finished before under this fence), "stale" (no longer the worker's), "unknown".
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run
--#include freed keyed when called
--#include rate
--#include input when called
--#include large
--#include result
--#include notify when called
--#include finished
--#include follow settle extra when called
--#include forecast when called
--#include service
--#include complete

local verdicts = complete_groups(ARGV, 1)
if of_notify then send_notices() end
if of_freed_keyed then tell_freed() end
return verdicts
