-- Appends what handlers have written to the output of their tasks.
--
-- args[1]  count: number of tasks, each with the arguments that follow
-- args[2…] id, fence, word (that only this call has), most (bytes that all values of the task may have together), all ("1" to
--          store all of these values or none), values: how many, then each as JSON
--
-- Returns of each "stale", or how many of its values were stored: what did not fit and all behind it is refused. The same call sent
-- again is answered the same.

-- Of so many calls the answers are remembered: several requests of one worker may be underway.
local ANSWERS = 3

local function write(call, id, fence, word, most, all, values)
  local key = K.task(call, id)
  local state, run, output, restarts, listeners =
    unpack(redis.call('HMGET', key, F.state, F.run, F.output, F.restarts, F.listeners))
  local held_under, _, attempt = Run.parts(run)
  local known = output and string.match(output, ' ' .. word .. '=(%d+)')
  if known then return known end
  if state ~= S.running or held_under ~= fence then return 'stale' end

  local bytes, entries = tonumber(output and string.match(output, '^%d+') or 0), {}
  local head = (restarts or 0) + 1 .. ' ' .. attempt .. ' '
  for n, value in ipairs(values) do
    if bytes + #value > most then break end
    bytes = bytes + #value
    entries[n] = head .. value
  end
  if all and #entries < #values then return '0' end

  local answers, count = bytes .. ' ' .. word .. '=' .. #entries, 1
  for answer in string.gmatch(output or '', ' (%S+)') do
    if count == ANSWERS then break end
    answers, count = answers .. ' ' .. answer, count + 1
  end
  redis.call('HSET', key, F.output, answers, F.extra, '1')
  if #entries > 0 then
    redis.call('RPUSH', K.output(call, id), unpack(entries))
    Notices.change(call, id, N.output, listeners)
  end
  return tostring(#entries)
end

register('write', {}, function(keys, args)
  local call, verdicts, at = Call.untimed(keys), {}, 2
  for n = 1, tonumber(args[1]) do
    local id, fence, word, most, all, count = unpack(args, at, at + 5)
    local values = { unpack(args, at + 6, at + 5 + count) }
    at = at + 6 + count
    verdicts[n] = write(call, id, fence, word, tonumber(most), all == '1', values)
  end
  Notices.send(call)
  return verdicts
end)
