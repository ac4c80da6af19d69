-- Looks at tasks as inspect.lua does, and names a process in their records: it is told of what happens to them from now on.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  process: what records call it
-- ARGV[2]  count: number of tasks, each with the two arguments that follow
-- ARGV[3…] id, result ("1" to have the stored result of a finished task, "0" not to)
--
-- Returns what inspect.lua returns.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run when called
--#include freed keyed when called
--#include snapshot
--#include large
--#include result
--#include relative
--#include look
--#include listen

for n = 0, tonumber(ARGV[2]) - 1 do
  local key = K.task(ARGV[3 + n * 2])
  if redis.call('HEXISTS', key, F.state) == 1 then listen(key, ARGV[1]) end
end
return look(ARGV, 2)
