-- A page of the tasks of a queue that finished last, the newest first.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
-- ARGV[2]  ended: when the last task of the page before did, ms; "" for the first page
-- ARGV[3]  id: of that task; "" where it is of another partition
-- ARGV[4]  same: "1" when what ended in the same ms as a task of another partition comes after it, else ""
-- ARGV[5]  limit: the most to return
-- ARGV[6…] prefix, caller, key, states, before, age: see lib/filter.lua
--
-- Returns {before (entries of this partition that come before the page), looked (entries looked at), {{id, ended, key, run}, …}, now
-- (ms)}. What has gone from the store, was destroyed, or was run again since is left out.
-- flags: no-writes
local base = KEYS[1]
--#include clock
--#include filter

local queue, ended, id, same, limit = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1', tonumber(ARGV[5])
local wanted = filter(unpack(ARGV, 6, 11))
local entries = redis.call('LRANGE', K.finished(queue), 0, C.mostFinished - 1)

-- Where the page begins. The last task of the page before may have left the list meanwhile.
local function begin()
  if ended == '' then return 1 end
  if id ~= '' then
    for n, entry in ipairs(entries) do
      if entry == ended .. ' ' .. id then return n + 1 end
    end
  end
  local time = tonumber(ended)
  for n, entry in ipairs(entries) do
    local of = tonumber(string.match(entry, '^%d+'))
    if of < time or (same and of == time) then return n end
  end
  return #entries + 1
end

local first, page, looked = begin(), {}, 0
for n = first, #entries do
  if #page == limit then break end
  looked = looked + 1
  local at, of = string.match(entries[n], '^(%d+) (.+)$')
  page[#page + 1] = wanted(of, at, at)
end
return { first - 1, looked, page, now_text }
