-- Names a process in the record of a task as a listener, see lib/notify.lua; where there are too many, all of them become one.
--   entry  the process, '.' before it where it is to be told of ends alone
local function listen(key, entry)
  local listeners = redis.call('HGET', key, F.listeners)
  local name, names, count = string.gsub(entry, '%.', ''), entry, 1
  for listener in string.gmatch(listeners or '', '%S+') do
    if listener == C.everyone or listener == name or listener == entry then return end
    -- From now on it is told of everything.
    if listener ~= '.' .. name then names, count = names .. ' ' .. listener, count + 1 end
  end
  redis.call('HSET', key, F.listeners, count > C.mostListeners and C.everyone or names)
end
