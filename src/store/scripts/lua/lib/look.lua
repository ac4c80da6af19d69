-- What a look at tasks returns, see inspect.lua. Needs clock, keyed, snapshot, large, result and relative.
--   args  ARGV, in which from `at` on stand the number of tasks; and of each id and result ("1" to have it, "0" not to)
local INSIDE = 4096

local function look(args, at)
  local tasks, lines, seen = {}, {}, {}
  for n = 0, tonumber(args[at]) - 1 do
    local id, wanted = args[at + 1 + n * 2], args[at + 2 + n * 2] == '1'
    local key = K.task(id)
    local known = redis.call('HMGET', key, F.queue, F.state, F.created, F.extra)
    local queue, state = known[1], known[2]
    if not state then
      -- Where it is, if it is in another partition.
      tasks[n + 1] = queue and redis.call('HGET', key, F.home) or ''
    else
      if not seen[queue] then
        seen[queue] = true
        lines[#lines + 1] = snapshot_of(queue)
      end
      local index, score, due, result, errors = '', '', '', '', ''
      if state == S.waiting then
        local rank = redis.call('ZRANK', K.waiting(queue), id)
        index = rank and whole(rank) or ''
        score = redis.call('ZSCORE', K.waiting(queue), id)
        score = score and told_score(queue, score) or ''
      elseif state == S.running then
        index = '0'
      elseif state == S.scheduled or state == S.retrying then
        due = redis.call('ZSCORE', K.scheduled(queue), id) or ''
      end
      local expires, first
      local run = ''
      local facts, progress, caller = queue .. ' ' .. state .. ' ' .. (known[3] or ''), '', ''
      local place = ' ' .. index .. ' ' .. score .. ' ' .. due
      if known[4] or state == S.failed then
        local t = redis.call('HMGET', key, F.ended, F.expires, F.lost, F.cancel, F.destroyed, F.errorCode, F.revision, F.progress, F.caller, F.run, F.result, F.deadline, F.key)
        expires, first = t[2], t[11]
        for field = 1, 10 do t[field] = t[field] or '' end
        facts = facts .. ' ' .. table.concat(t, ' ', 1, 6) .. place .. ' ' .. t[7] .. ' ' .. (t[12] or '') .. ' ' .. (t[13] and key_is_full(queue, id, state, t[13]) and '1' or '')
        if t[13] and index ~= '' and state == S.waiting and key_limit(queue) then
          facts = facts .. ' ' .. turn_of(queue, id, t[13], redis.call('ZSCORE', K.waiting(queue), id))
        end
        progress, caller, run = t[8], t[9], t[10]
      elseif state == S.waiting or state == S.scheduled then
        -- Without the rarer fields it has never been out of the line for longer than a release.
        facts = facts .. '      ' .. place .. '  '
      else
        local t = redis.call('HMGET', key, F.run, F.ended, F.expires, F.result)
        run, expires, first = t[1] or '', t[3], t[4]
        facts = facts .. ' ' .. (t[2] or '') .. ' ' .. (t[3] or '') .. '    ' .. place .. '  '
      end
      if wanted and expires then
        -- One in the hash may still be there when its time is over.
        if (tonumber(expires) or now + 1) > now then result = read_result(id, key, first, INSIDE) end
        if state == S.failed then errors = redis.call('HGET', key, F.errors) or '' end
      end
      tasks[n + 1] = { facts, progress, caller, result, errors, run }
    end
  end
  return { now_text, lines, tasks }
end
