-- What the last calls that changed a task, or a queue, were answered: one whose reply was lost is answered the same when it is sent
-- again, whatever has become of the task since. Field V: "token=verdict …", the newest first. A token is a letter for the verb, and
-- behind it the fence, or a word that only this call has.
local ANSWERS = 3

local function answered(stored, token)
  return stored and string.match(' ' .. stored .. ' ', ' ' .. token .. '=(%S+) ') or nil
end

local function note_answer(key, stored, token, verdict)
  local answers, count = token .. '=' .. verdict, 1
  for answer in string.gmatch(stored or '', '%S+') do
    if count == ANSWERS then break end
    answers, count = answers .. ' ' .. answer, count + 1
  end
  redis.call('HSET', key, F.answers, answers)
end
