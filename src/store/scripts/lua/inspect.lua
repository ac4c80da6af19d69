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
--#include result

local INSIDE = 4096

local tasks, lines, seen = {}, {}, {}
for n = 0, tonumber(ARGV[1]) - 1 do
  local id, wanted = ARGV[2 + n * 2], ARGV[3 + n * 2] == '1'
  local key = K.task(id)
  local known = redis.call('HMGET', key, F.queue, F.state, F.created, F.extra)
  local queue, state = known[1], known[2]
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
    end
    local expires, first
    local facts, progress, caller = queue .. ' ' .. state .. ' ' .. (known[3] or ''), '', ''
    local place = ' ' .. index .. ' ' .. score .. ' ' .. due
    if known[4] or state == S.failed then
      local t = redis.call('HMGET', key, F.attempts, F.begun, F.ended, F.expires, F.lost, F.cancel, F.destroyed, F.errorCode, F.revision, F.progress, F.caller, F.result)
      expires, first = t[4], t[12]
      for field = 1, 11 do t[field] = t[field] or '' end
      facts = facts .. ' ' .. table.concat(t, ' ', 1, 8) .. place .. ' ' .. t[9]
      progress, caller = t[10], t[11]
    elseif state == S.waiting or state == S.scheduled then
      -- Without the rarer fields it has never been out of the line for longer than a release.
      facts = facts .. '        ' .. place .. ' '
    else
      local t = redis.call('HMGET', key, F.attempts, F.begun, F.ended, F.expires, F.result)
      expires, first = t[4], t[5]
      facts = facts .. ' ' .. (t[1] or '') .. ' ' .. (t[2] or '') .. ' ' .. (t[3] or '') .. ' ' .. (t[4] or '') .. '    ' .. place .. ' '
    end
    if wanted and expires then
      -- One in the hash may still be there when its time is over.
      if (tonumber(expires) or now + 1) > now then result = read_result(id, key, first, INSIDE) end
      if state == S.failed then errors = redis.call('HGET', key, F.errors) or '' end
    end
    tasks[n + 1] = { facts, progress, caller, result, errors }
  end
end
return { now_text, lines, tasks }
