-- Remembers the answers to the last calls that changed a task or a queue: a call that is sent again after a lost reply gets the same
-- answer, whatever has happened to the task since. A field of the hash has "token=verdict …", the newest first. A token is a letter for the
-- verb, followed by the fence or a word unique to the call.
local Answers = {}

-- Several calls that write output of one task may be underway.
local MAX = 3

-- The answer to a token; nil if there is none. stored: the field.
function Answers.find(stored, token)
  return stored and string.match(' ' .. stored .. ' ', ' ' .. token .. '=(%S+) ') or nil
end

function Answers.note(key, field, stored, token, verdict)
  local answers, count = token .. '=' .. verdict, 1
  for answer in string.gmatch(stored or '', '%S+') do
    if count == MAX then break end
    answers, count = answers .. ' ' .. answer, count + 1
  end
  redis.call('HSET', key, field, answers)
end

return Answers
