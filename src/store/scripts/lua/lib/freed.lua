-- What becomes free in keyed lines, see lib/keyed.lua, in one call.
-- Of each queue, score and id of the tasks that may start, as long as they are not in K.startable; and whether nobody else could start
-- before, so that free slots wait for them.
local opening, freed = {}, {}

-- Puts them there: before anything else is done with K.startable.
local function open_freed()
  for queue, entries in pairs(opening) do
    redis.call('ZADD', K.startable(queue), unpack(entries))
    if freed[queue] == nil then freed[queue] = redis.call('ZCARD', K.startable(queue)) == #entries / 2 end
    opening[queue] = nil
  end
end

-- Tells workers of tasks that may start now; but: a queue of which they need not be told.
local function tell_freed(but)
  open_freed()
  for queue, alone in pairs(freed) do
    if alone and queue ~= but then redis.call('PUBLISH', K.work(queue), '') end
  end
end
