-- What the latest attempts of a task leave for operators: the stacks of their errors, and the last lines of their logs.

local whole = Number.whole
local LOG = Layout.attemptLog.item
-- Of one task.
local MAX_ATTEMPTS, MAX_BYTES = 5, 32768

local function keep(call, args, at)
  local key = K.task(call, args[at + LOG.id])
  local state, run, logs = unpack(redis.call('HMGET', key, F.state, F.run, F.logs))
  if not Run.is_held(state, run, args[at + LOG.fence]) then return 'stale' end
  local fence, late, attempts = Run.parts(run)
  local head = attempts .. ' ' .. whole(Run.begun(fence, late) or 0) .. ' '
  local lines = { head .. args[at + LOG.log] }
  local bytes = #lines[1]
  for before in string.gmatch(logs or '', '[^\n]+') do
    bytes = bytes + #before
    if #lines == MAX_ATTEMPTS or bytes > MAX_BYTES then break end
    -- A repeated call replaces what it has stored.
    if string.sub(before, 1, #head) ~= head then lines[#lines + 1] = before end
  end
  redis.call('HSET', key, F.logs, table.concat(lines, '\n'), F.extra, '1')
  return 'ok'
end

-- Keeps what running attempts leave: a line of JSON each. Returns a verdict for each: "ok" or "stale".
register('attemptLog', {}, function(keys, args)
  return Call.each(Call.untimed(keys), args, Layout.attemptLog, keep)
end)
