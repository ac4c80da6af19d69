-- What becomes free in keyed lines, see lib/keyed.lua, in one call.
-- Of each queue, score and id of the tasks that may start, as long as they are not in K.startable; and whether nobody else could start
-- before, so that free slots wait for them.
local opening, freed = {}, {}

-- A small sorted set is a list that Redis reads from its beginning for each entry that is added. With an entry that is longer than
-- zset-max-listpack-value it becomes a tree, and remains one until it is empty.
local FEW, MANY, LONGEST_LIST = 8, 32, 128
local LONG_ENTRY = '-----------------------------------------------------------------'

-- Puts them there: before anything else is done with K.startable.
local function open_freed()
  for queue, entries in pairs(opening) do
    local startable = K.startable(queue)
    local before = redis.call('ZCARD', startable)
    if freed[queue] == nil then freed[queue] = before == 0 end
    if #entries >= 2 * FEW and before >= MANY and before <= LONGEST_LIST then
      redis.call('ZADD', startable, 0, LONG_ENTRY)
      redis.call('ZREM', startable, LONG_ENTRY)
    end
    redis.call('ZADD', startable, unpack(entries))
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
