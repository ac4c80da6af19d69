-- What the last calls that changed a task, or a queue, were answered: one whose reply was lost is answered the same when it is sent
-- again, whatever has become of the task since. Field V: "token=verdict …", the newest first. A token is a letter for the verb, and
-- behind it the fence, or a word that only this call has.
local Answers = {}

local MOST = 3

-- What a token was answered; nil for nothing. stored: the field.
function Answers.find(stored, token)
  return stored and string.match(' ' .. stored .. ' ', ' ' .. token .. '=(%S+) ') or nil
end

function Answers.note(key, stored, token, verdict)
  local answers, count = token .. '=' .. verdict, 1
  for answer in string.gmatch(stored or '', '%S+') do
    if count == MOST then break end
    answers, count = answers .. ' ' .. answer, count + 1
  end
  redis.call('HSET', key, F.answers, answers)
end

return Answers
