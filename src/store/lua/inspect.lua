-- Looks at tasks: each one's state, its place in line and the line itself, all of the same instant.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the two arguments that follow
-- ARGV[2…] id, result ("1" to have the stored result of a finished task, "0" not to)
--
-- Returns {now, lines, tasks}: ms; a line of each queue (see lib/line.lua); and of each task
-- {queue, state, created, attempts, begun, ended, expiry, lost, cancel requested, destroyed, error code, progress, caller,
-- index, score, due, result, last errors} with "" for what it does not have, or "" for an unknown task.
-- flags: no-writes
local base = KEYS[1]
--#include clock
--#include line

local tasks, lines, seen = {}, {}, {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local id, wanted = ARGV[2 + n * 2], ARGV[3 + n * 2] == '1'
  local t = redis.call('HMGET', base .. 't:' .. id, 'q', 's', 'c', 'a', 'b', 'e', 'x', 'l', 'k', 'g', 'y', 'p', 'z')
  local queue, state = t[1], t[2]
  if not queue then
    tasks[n + 1] = ''
  else
    if not seen[queue] then
      seen[queue] = true
      lines[#lines + 1] = line_of(queue)
    end
    for field = 1, 13 do t[field] = t[field] or '' end
    t[14], t[15], t[16], t[17], t[18] = '', '', '', '', ''
    if state == 'w' then
      local rank = redis.call('ZRANK', base .. 'w:' .. queue, id)
      t[14] = rank and whole(rank) or ''
      t[15] = redis.call('ZSCORE', base .. 'w:' .. queue, id) or ''
    elseif state == 'r' then
      t[14] = '0'
    elseif state == 'd' or state == 'y' then
      t[16] = redis.call('ZSCORE', base .. 'd:' .. queue, id) or ''
    elseif wanted then
      t[17] = redis.call('GET', base .. 'r:' .. id) or ''
      if state == 'f' then t[18] = redis.call('HGET', base .. 't:' .. id, 'E') or '' end
    end
    tasks[n + 1] = t
  end
end
return { whole(now), lines, tasks }
