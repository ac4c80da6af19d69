-- Reads what the handlers of tasks have written, of each a page from a place on.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the two arguments that follow
-- ARGV[2…] id, from: how many values to pass over
--
-- Returns of each how many values there are, and those of the page, as they are stored: "run attempt JSON".
-- flags: no-writes
local base = KEYS[1]

-- Bytes after which a page ends.
local PAGE = 16384
-- Values that are read at once: few at first, as they may be long.
local FEW, MANY = 4, 256

local pages = {}
for n = 1, tonumber(ARGV[1]) do
  local id, from = ARGV[n * 2], tonumber(ARGV[n * 2 + 1])
  local key = K.output(id)
  local total = redis.call('LLEN', key)
  local page, bytes, step = { total }, 0, FEW
  while from < total and bytes < PAGE do
    for _, value in ipairs(redis.call('LRANGE', key, from, from + step - 1)) do
      if bytes < PAGE then page[#page + 1] = value end
      bytes = bytes + #value
    end
    from, step = from + step, math.min(step * 2, MANY)
  end
  pages[n] = page
end
return pages
