-- Reports of running handlers: values for the output of their tasks, and their progress.

local whole = Number.whole
local PLACE, OUTPUT, PROGRESS = Layout.output.item, Layout.write.item, Layout.progress.item
-- Bytes after which a page ends.
local PAGE = 16384
-- Values that are read at once: few at first, since they may be long.
local FEW, MANY = 4, 256

local function read_page(call, args, at)
  local key, from = K.output(call, args[at + PLACE.id]), tonumber(args[at + PLACE.from])
  local total = redis.call('LLEN', key)
  local page, bytes, step = { total }, 0, FEW
  while from < total and bytes < PAGE do
    for _, value in ipairs(redis.call('LRANGE', key, from, from + step - 1)) do
      if bytes < PAGE then page[#page + 1] = value end
      bytes = bytes + #value
    end
    from, step = from + step, math.min(step * 2, MANY)
  end
  return page
end

-- Reads output: for each task a page from a place on. Returns for each how many values there are, then those of the page, as they are
-- stored: "run attempt JSON".
register('output', { 'no-writes' }, function(keys, args)
  return Call.each(Call.untimed(keys), args, Layout.output, read_page)
end)

-- The number of calls whose answers are remembered, since several requests of one worker may be underway.
local ANSWERS = 3

local function write(call, args, at, values)
  local id, word, max = args[at + OUTPUT.id], args[at + OUTPUT.call], tonumber(args[at + OUTPUT.maxBytes])
  local key = K.task(call, id)
  local state, run, output, restarts, listeners =
    unpack(redis.call('HMGET', key, F.state, F.run, F.output, F.restarts, F.listeners))
  local held_under, _, attempt = Run.parts(run)
  local known = output and string.match(output, ' ' .. word .. '=(%d+)')
  if known then return known end
  if state ~= S.running or held_under ~= args[at + OUTPUT.fence] then return 'stale' end

  local bytes, entries = tonumber(output and string.match(output, '^%d+') or 0), {}
  local head = (restarts or 0) + 1 .. ' ' .. attempt .. ' '
  for n, value in ipairs(values) do
    if bytes + #value > max then break end
    bytes = bytes + #value
    entries[n] = head .. value
  end
  if args[at + OUTPUT.all] == '1' and #entries < #values then return '0' end

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

-- Appends values to output. Returns for each task "stale", or how many of its values were stored: the first that does not fit and all after
-- it are refused. A repeated call gets the same answer.
register('write', {}, function(keys, args)
  local call, verdicts, at = Call.untimed(keys), {}, Layout.write.args.count
  for n = 1, tonumber(args[at]) do
    local first, count = at + OUTPUT.width + 1, tonumber(args[at + OUTPUT.values])
    verdicts[n] = write(call, args, at, { unpack(args, first, first + count - 1) })
    at = at + OUTPUT.width + count
  end
  Notices.send(call)
  return verdicts
end)

local function keep(call, args, at)
  local id = args[at + PROGRESS.id]
  local key = K.task(call, id)
  local state, run, listeners = unpack(redis.call('HMGET', key, F.state, F.run, F.listeners))
  if not Run.is_held(state, run, args[at + PROGRESS.fence]) then return 'stale' end
  local percent, message = string.match(args[at + PROGRESS.progress], '^(%S+) (.*)$')
  local fence, late = Run.parts(run)
  local age = call.now - (Run.begun(fence, late) or call.now)
  local total = tonumber(percent) > 0 and math.max(0, age) * 100 / percent or 0
  redis.call('HSET', key, F.progress, percent .. ' ' .. whole(total) .. ' ' .. message, F.extra, '1')
  Notices.change(call, id, N.progress, listeners)
  return 'ok'
end

-- Stores the progress of running tasks. Returns a verdict for each: "ok" or "stale".
register('progress', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local verdicts = Call.each(call, args, Layout.progress, keep)
  Notices.send(call)
  return verdicts
end)
