-- What the latest attempts of a task leave for operators: the stacks of their errors, and the last lines of their logs.

local whole = Number.whole
-- Of one task.
local MAX_ATTEMPTS, MAX_BYTES = 5, 32768

local function keep(call, item)
  local id = item.id
  local state, run = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run))
  if not Run.is_held(state, run, item.fence) then return 'stale' end
  local fence, late, attempts = Run.parts(run)
  local head = attempts .. ' ' .. whole(Run.begun(fence, late) or 0) .. ' '
  local lines = { head .. item.log }
  local bytes = #lines[1]
  for before in string.gmatch(redis.call('HGET', K.attempts(call, id), T.logs) or '', '[^\n]+') do
    bytes = bytes + #before
    if #lines == MAX_ATTEMPTS or bytes > MAX_BYTES then break end
    -- A repeated call replaces what it has stored.
    if string.sub(before, 1, #head) ~= head then lines[#lines + 1] = before end
  end
  Past.keep(call, id, T.logs, table.concat(lines, '\n'))
  return 'ok'
end

-- Keeps what running attempts leave: a line of JSON each. Returns a verdict for each: "ok" or "stale".
register('attemptLog', {}, function(call, asked)
  return Call.each(call, asked.items, keep)
end)
