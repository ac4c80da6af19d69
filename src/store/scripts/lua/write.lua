-- Appends what handlers have written to the output of their tasks.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the arguments that follow
-- ARGV[2…] id, fence, call (a word that only this call has), most (bytes that all values of the task may have together), all ("1" to
--          store all of these values or none), values: how many, then each as JSON
--
-- Returns of each "stale", or how many of its values were stored: what did not fit and all behind it is refused. The same call sent
-- again is answered the same.
local base = KEYS[1]
--#include run
--#include notify

-- Of so many calls the answers are remembered: several requests of one worker may be underway.
local ANSWERS = 3

local function write(id, fence, call, most, all, values)
  local key = K.task(id)
  local state, run, output, restarts, listeners =
    unpack(redis.call('HMGET', key, F.state, F.run, F.output, F.restarts, F.listeners))
  local held_under, _, attempt = run_of(run)
  local known = output and string.match(output, ' ' .. call .. '=(%d+)')
  if known then return known end
  if state ~= S.running or held_under ~= fence then return 'stale' end

  local bytes, head, entries = tonumber(output and string.match(output, '^%d+') or 0), nil, {}
  head = (restarts or 0) + 1 .. ' ' .. attempt .. ' '
  for n, value in ipairs(values) do
    if bytes + #value > most then break end
    bytes = bytes + #value
    entries[n] = head .. value
  end
  if all and #entries < #values then return '0' end

  local answers, count = bytes .. ' ' .. call .. '=' .. #entries, 1
  for answer in string.gmatch(output or '', ' (%S+)') do
    if count == ANSWERS then break end
    answers, count = answers .. ' ' .. answer, count + 1
  end
  redis.call('HSET', key, F.output, answers, F.extra, '1')
  if #entries > 0 then
    redis.call('RPUSH', K.output(id), unpack(entries))
    notify(id, N.output, listeners)
  end
  return tostring(#entries)
end

local verdicts, at = {}, 2
for n = 1, tonumber(ARGV[1]) do
  local id, fence, call, most, all, count = unpack(ARGV, at, at + 5)
  local values = { unpack(ARGV, at + 6, at + 5 + count) }
  at = at + 6 + count
  verdicts[n] = write(id, fence, call, tonumber(most), all == '1', values)
end
send_notices()
return verdicts
