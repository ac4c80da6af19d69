-- Notices: what happens to a task or a group is published to the processes that its record names, each on its channel. They are gathered in
-- call.notices and sent by Notices.send at the end of a call, as one message for each process. The field of the record, listeners: names
-- with a space between, '.' before one that gets only ends; or C.everyone.
local Notices = {}

local function notice(call, listener, text)
  local notices = call.notices
  if not notices then
    notices = {}
    call.notices = notices
  end
  local of = notices[listener]
  if not of then
    of = {}
    notices[listener] = of
  end
  of[#of + 1] = #text .. ' ' .. text
end

-- Adds a process to the listeners in the record of a task or a group; if there are too many, all are replaced by one entry.
--   entry  the process, with '.' before it if it gets only ends
function Notices.listen(key, entry)
  local listeners = redis.call('HGET', key, F.listeners)
  local name, names, count = string.gsub(entry, '%.', ''), entry, 1
  for listener in string.gmatch(listeners or '', '%S+') do
    if listener == C.everyone or listener == name or listener == entry then return end
    -- From now on it gets all notices.
    if listener ~= '.' .. name then names, count = names .. ' ' .. listener, count + 1 end
  end
  redis.call('HSET', key, F.listeners, count > C.maxListeners and C.everyone or names)
end

-- Notifies of a change other than the end. If the caller has not read the listeners (nil, not false), they are read here.
function Notices.change(call, id, letter, listeners)
  if listeners == nil then listeners = redis.call('HGET', K.task(call, id), F.listeners) end
  if not listeners then return end
  for name in string.gmatch(listeners, '%S+') do
    if string.sub(name, 1, 1) ~= '.' then notice(call, name, letter .. ' ' .. id) end
  end
end

-- The same, also for those that otherwise get only ends.
function Notices.to_all(call, id, letter, listeners)
  for name in string.gmatch(listeners, '[^ .]+') do notice(call, name, letter .. ' ' .. id) end
end

-- Notifies of an end, with the result if that is short (nil if there is none).
--   ended, expires  ms, as text; nil for an end with further facts, so that listeners read the task
--   listeners, run  fields of the record; nil if the caller has not read them
--   process  the one that tells its own listeners itself, or nil
-- Returns the attempts if the record names that process, else nil.
function Notices.ended(call, id, letter, ended, expires, result, listeners, process, run)
  if listeners == nil then listeners = redis.call('HGET', K.task(call, id), F.listeners) end
  if not listeners then return end
  local _, _, attempts = Run.parts(run or redis.call('HGET', K.task(call, id), F.run))
  attempts = attempts or '0'
  local own, text
  for name in string.gmatch(listeners, '[^ .]+') do
    if name == process then
      own = attempts
    else
      if not text then
        text = letter .. ' ' .. id
        local is_long = result and #result > C.noticeBytes
        if ended and not is_long then text = text .. ' ' .. ended .. ' ' .. expires .. ' ' .. attempts end
        if result and not is_long then text = text .. '\n' .. result end
      end
      notice(call, name, text)
    end
  end
  return own
end

-- Notifies that the result of a finished task was deleted, so that listeners read the task.
function Notices.deleted(call, id)
  local listeners = redis.call('HGET', K.task(call, id), F.listeners)
  for name in string.gmatch(listeners or '', '[^ .]+') do notice(call, name, N.deleted .. ' ' .. id) end
end

-- Notifies of a change of a group at the end of the call, by Notices.send: once, however many members it is of.
function Notices.group(call, group)
  local groups = call.groups
  if not groups then
    groups = {}
    call.groups = groups
  end
  groups[group] = true
end

local function group_notices(call)
  for group in pairs(call.groups) do
    local listeners, finished = unpack(redis.call('HMGET', K.group(call, group), G.listeners, G.finished))
    for name in string.gmatch(listeners or '', '%S+') do
      notice(call, name, (finished and N.groupEnded or N.groupChanged) .. ' ' .. group .. ':group')
    end
  end
end

-- Notifies the workers of a queue. what: see the channel in keys.ts; nil for work.
function Notices.work(call, queue, what)
  redis.call(OPTIONS.publish, K.work(call, queue), what or '')
end

-- Notifies them of work at the end of the call, by Notices.send: once, however many tasks return to the line.
function Notices.work_at_end(call, queue)
  local work = call.work
  if not work then
    work = {}
    call.work = work
  end
  work[queue] = true
end

function Notices.send(call)
  if call.groups then group_notices(call) end
  if call.notices then
    for listener, texts in pairs(call.notices) do
      redis.call(OPTIONS.publish, K.notices(call, listener), table.concat(texts))
    end
  end
  if call.work then
    for queue in pairs(call.work) do Notices.work(call, queue) end
  end
end

return Notices
