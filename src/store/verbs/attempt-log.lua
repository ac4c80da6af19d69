-- What the latest attempts of a task leave for operators: the stacks of their errors, and the last lines of their logs.

local whole = Number.whole
local LOG = Layout.attemptLog.item
-- Of one task.
local MAX_ATTEMPTS, MAX_BYTES = 5, 32768

local function keep(call, args, at)
  local id = args[at + LOG.id]
  local state, run = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run))
  if not Run.is_held(state, run, args[at + LOG.fence]) then return 'stale' end
  local fence, late, attempts = Run.parts(run)
  local head = attempts .. ' ' .. whole(Run.begun(fence, late) or 0) .. ' '
  local lines = { head .. args[at + LOG.log] }
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
register('attemptLog', {}, function(keys, args)
  return Call.each(Call.untimed(keys), args, Layout.attemptLog, keep)
end)
