-- Looks at tasks: each one's state, its place in line and the line itself, all of the same instant.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the two arguments that follow
-- ARGV[2…] id, result ("1" to have the stored result of a finished task, "0" not to)
--
-- Returns {now, lines, tasks}: ms; a line of each queue (see lib/line.lua); and of each task
-- {"queue state created attempts begun ended expiry lost cancel-requested destroyed error-code index score due revision",
-- progress, caller, result, last errors} with nothing for what it does not have, or "" for an unknown task. Of a result longer
-- than INSIDE the length, as a number: see lib/large.lua.
-- flags: no-writes
local base = KEYS[1]
--#include clock
--#include line
--#include large

local INSIDE = 4096

local tasks, lines, seen = {}, {}, {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local id, wanted = ARGV[2 + n * 2], ARGV[3 + n * 2] == '1'
  local t = redis.call('HMGET', K.task(id), F.queue, F.state, F.created, F.attempts, F.begun, F.ended, F.expires, F.lost, F.cancel, F.destroyed, F.errorCode, F.progress, F.caller, F.revision)
  local queue, state = t[1], t[2]
  if not queue then
    tasks[n + 1] = ''
  else
    if not seen[queue] then
      seen[queue] = true
      lines[#lines + 1] = line_of(queue)
    end
    local index, score, due, result, errors = '', '', '', '', ''
    if state == S.waiting then
      local rank = redis.call('ZRANK', K.waiting(queue), id)
      index = rank and whole(rank) or ''
      score = redis.call('ZSCORE', K.waiting(queue), id) or ''
    elseif state == S.running then
      index = '0'
    elseif state == S.scheduled or state == S.retrying then
      due = redis.call('ZSCORE', K.scheduled(queue), id) or ''
    elseif wanted then
      result = value_or_length(K.result(id), INSIDE)
      if state == S.failed then errors = redis.call('HGET', K.task(id), F.errors) or '' end
    end
    for field = 1, 11 do t[field] = t[field] or '' end
    local facts = table.concat(t, ' ', 1, 11) .. ' ' .. index .. ' ' .. score .. ' ' .. due .. ' ' .. (t[14] or '')
    tasks[n + 1] = { facts, t[12] or '', t[13] or '', result, errors }
  end
end
return { now_text, lines, tasks }
