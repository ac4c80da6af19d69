-- Notices: tells the processes that the record of a task names of what happens to it, each on its channel. They are gathered, and go
-- by send_notices at the end of a call: what it has to say to a process is one message.
--   listeners  the field of the record: names with a space between, '.' before one that is told of ends alone; or C.everyone
local notices = {}

local function notice(listener, text)
  local of = notices[listener]
  if not of then
    of = {}
    notices[listener] = of
  end
  of[#of + 1] = #text .. ' ' .. text
end

-- Tells of a change that is no end. Where the caller has not read the listeners (nil, not false), they are read here.
local function notify(id, letter, listeners)
  if listeners == nil then listeners = redis.call('HGET', K.task(id), F.listeners) end
  if not listeners then return end
  for name in string.gmatch(listeners, '%S+') do
    if string.sub(name, 1, 1) ~= '.' then notice(name, letter .. ' ' .. id) end
  end
end

-- Tells of an end, with the result where that is short (nil where there is none).
--   ended, expires  ms, as text; nil for an end of which there is more to say, so that it is looked at
--   teller  the process that tells its own listeners itself, or nil
--   run  the field of the record; nil where the caller has not read it
-- Returns the attempts where the record names the teller, else nil.
local function notify_end(id, letter, ended, expires, result, listeners, teller, run)
  if listeners == nil then listeners = redis.call('HGET', K.task(id), F.listeners) end
  if not listeners then return end
  local _, _, attempts = run_of(run or redis.call('HGET', K.task(id), F.run))
  attempts = attempts or '0'
  local by_teller, text
  for name in string.gmatch(listeners, '[^ .]+') do
    if name == teller then
      by_teller = attempts
    else
      if not text then
        text = letter .. ' ' .. id
        local is_long = result and #result > C.noticeBytes
        if ended and not is_long then text = text .. ' ' .. ended .. ' ' .. expires .. ' ' .. attempts end
        if result and not is_long then text = text .. '\n' .. result end
      end
      notice(name, text)
    end
  end
  return by_teller
end

-- Tells of the end of what a finished task had left: to be looked at.
local function notify_destroyed(id)
  local listeners = redis.call('HGET', K.task(id), F.listeners)
  for name in string.gmatch(listeners or '', '[^ .]+') do notice(name, N.destroyed .. ' ' .. id) end
end

local function send_notices()
  for listener, texts in pairs(notices) do redis.call('PUBLISH', K.notices(listener), table.concat(texts)) end
end
