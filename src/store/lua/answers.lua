-- Remembers the answers to the last calls that changed a task or a queue: a call that is sent again after a lost reply gets the same
-- answer, whatever has happened to the task since. Field V: "token=verdict …", the newest first. A token is a letter for the verb, followed
-- by the fence or a word unique to the call.
local Answers = {}

local MAX = 3

-- The answer to a token; nil if there is none. stored: the field.
function Answers.find(stored, token)
  return stored and string.match(' ' .. stored .. ' ', ' ' .. token .. '=(%S+) ') or nil
end

function Answers.note(key, stored, token, verdict)
  local answers, count = token .. '=' .. verdict, 1
  for answer in string.gmatch(stored or '', '%S+') do
    if count == MAX then break end
    answers, count = answers .. ' ' .. answer, count + 1
  end
  redis.call('HSET', key, F.answers, answers)
end

return Answers
