-- A page of the tasks of a queue that finished last, the newest first.
--
-- args[1]  queue
-- args[2]  ended: when the last task of the page before did, ms; "" for the first page
-- args[3]  id: of that task; "" where it is of another partition
-- args[4]  same: "1" when what ended in the same ms as a task of another partition comes after it, else ""
-- args[5]  limit: the most to return
-- args[6…] prefix, caller, key, states, before, age: see filter.lua
--
-- Returns {before (entries of this partition that come before the page), looked (entries looked at), {{id, ended, key, run}, …}, now
-- (ms)}. What has gone from the store, was destroyed, or was run again since is left out.

-- Where the page begins. The last task of the page before may have left the list meanwhile.
local function first_of_page(entries, ended, id, same)
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

register('finished', { 'no-writes' }, function(keys, args)
  local call = Call.new(keys)
  local queue, ended, id, same, limit = args[1], args[2], args[3], args[4] == '1', tonumber(args[5])
  local filter = Filter.read(call, args, 6)
  local entries = redis.call('LRANGE', K.finished(call, queue), 0, C.mostFinished - 1)
  local first, page, looked = first_of_page(entries, ended, id, same), {}, 0
  for n = first, #entries do
    if #page == limit then break end
    looked = looked + 1
    local at, of = string.match(entries[n], '^(%d+) (.+)$')
    page[#page + 1] = Filter.entry(call, filter, of, at, at)
  end
  return { first - 1, looked, page, call.now_text }
end)
