-- Reports of running handlers: values for the output of their tasks, and their progress.

local whole = Number.whole
-- Bytes after which a page ends.
local PAGE = 16384
-- Values that are read at once: few at first, since they may be long.
local FEW, MANY = 4, 256

local function read_page(call, item)
  local key, from = K.output(call, item.id), item.from
  local total = redis.call('LLEN', key)
  local page, bytes, step = {}, 0, FEW
  while from < total and bytes < PAGE do
    for _, value in ipairs(redis.call('LRANGE', key, from, from + step - 1)) do
      if bytes < PAGE then page[#page + 1] = value end
      bytes = bytes + #value
    end
    from, step = from + step, math.min(step * 2, MANY)
  end
  return { total = total, values = page }
end

-- Reads output: for each task a page from a place on. Returns for each how many values there are, then those of the page, as they are
-- stored: "run attempt JSON".
register('output', { 'no-writes' }, function(call, asked)
  return Call.each(call, asked.items, read_page)
end)

local function write(call, key, item)
  local id, values = item.id, item.values
  local state, run, stored, restarts, listeners =
    unpack(redis.call('HMGET', key, F.state, F.run, F.output, F.restarts, F.listeners))
  local held_under, _, attempt = Run.parts(run)
  if state ~= S.running or held_under ~= item.fence then return 'stale' end

  local bytes, entries = tonumber(stored or 0), {}
  local head = (restarts or 0) + 1 .. ' ' .. attempt .. ' '
  for n, value in ipairs(values) do
    if bytes + #value > item.maxBytes then break end
    bytes = bytes + #value
    entries[n] = head .. value
  end
  if item.all and #entries < #values then return 0 end

  redis.call('HSET', key, F.output, whole(bytes), F.extra, '1')
  if #entries > 0 then
    redis.call('RPUSH', K.output(call, id), unpack(entries))
    Notices.change(call, id, N.output, listeners)
  end
  return #entries, true
end

-- Appends values to output. Returns for each task "stale", or how many of its values were stored: the first that does not fit and all after
-- it are refused. A repeated call gets the same answer.
register('write', {}, function(call, asked)
  local verdicts = Call.each_once(call, A.write, asked.items, write)
  Notices.send(call)
  return verdicts
end)

local function keep(call, item)
  local id = item.id
  local key = K.task(call, id)
  local state, run, listeners = unpack(redis.call('HMGET', key, F.state, F.run, F.listeners))
  if not Run.is_held(state, run, item.fence) then return 'stale' end
  local percent, message = string.match(item.progress, '^(%S+) (.*)$')
  local fence, late = Run.parts(run)
  local age = call.now - (Run.begun(fence, late) or call.now)
  local total = tonumber(percent) > 0 and math.max(0, age) * 100 / percent or 0
  redis.call('HSET', key, F.progress, percent .. ' ' .. whole(total) .. ' ' .. message, F.extra, '1')
  Notices.change(call, id, N.progress, listeners)
  return 'ok'
end

-- Stores the progress of running tasks. Returns a verdict for each: "ok" or "stale".
register('progress', { 'allow-oom' }, function(call, asked)
  local verdicts = Call.each(call, asked.items, keep)
  Notices.send(call)
  return verdicts
end)
