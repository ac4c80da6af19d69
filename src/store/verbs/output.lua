-- Reads what the handlers of tasks have written, of each a page from a place on.
--
-- args[1]  count: number of tasks, each with the two arguments that follow
-- args[2…] id, from: how many values to pass over
--
-- Returns of each how many values there are, and those of the page, as they are stored: "run attempt JSON".

-- Bytes after which a page ends.
local PAGE = 16384
-- Values that are read at once: few at first, as they may be long.
local FEW, MANY = 4, 256

local function read_page(key, from)
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

register('output', { 'no-writes' }, function(keys, args)
  local call, pages = Call.untimed(keys), {}
  for n = 1, tonumber(args[1]) do
    local id, from = args[n * 2], tonumber(args[n * 2 + 1])
    pages[n] = read_page(K.output(call, id), from)
  end
  return pages
end)
