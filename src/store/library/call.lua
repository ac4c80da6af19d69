-- The context of one call of a verb, passed to every function that needs any of it:
--   base       the partition's tag, with which all its keys begin
--   now        ms; now_text: the same as text; now_exact: with fractions
--   notices    notices for listening processes, see notices.lua; nil for none
--   groups     the groups that have changed, see notices.lua; nil for none
--   work       the queues whose workers get a message of work, see notices.lua; nil for none
--   counts     counts of queues, see rate.lua; nil for none
--   retention  how long the task that it ended last is kept, see result.lua; nil for none
--   keyed      facts and decisions about keyed lines, see keyed.lua; nil for none
local Call = {}

-- The time of Redis: no client's clock orders tasks or ends a lease.
function Call.new(keys)
  local time = redis.call('TIME')
  local exact = time[1] * 1000 + time[2] / 1000
  local now = exact - exact % 1
  return {
    base = keys[1],
    now = now,
    now_exact = exact,
    now_text = Number.whole(now),
    notices = nil,
    groups = nil,
    work = nil,
    counts = nil,
    retention = nil,
    keyed = nil,
  }
end

-- The context of a call that does not depend on the time.
function Call.untimed(keys)
  return { base = keys[1], notices = nil, groups = nil, work = nil, counts = nil, keyed = nil }
end

-- The name that a queue of the server's own has in this partition, see internal-queues.ts.
function Call.own_queue(call, name)
  local partition = string.match(call.base, ':(%d+)}$')
  return partition == '0' and name or name .. '.' .. partition
end

-- The next place in line of a queue: unique, and later than all earlier ones even if the clock was set back.
function Call.next_hlc(call, last)
  return math.max(last + 1, math.floor((call.now_exact - C.epochMs) * 16))
end

-- Runs a verb for each of its items: run(call, item, shared). Returns the verdicts.
function Call.each(call, items, run, shared)
  local verdicts = {}
  for n, item in ipairs(items) do verdicts[n] = run(call, item, shared) end
  return verdicts
end

-- The same for a hot verb: run(call, args, at, shared), where args[at + ITEM.id] is an argument of the item.
--   layout  of the verb, with `item`
function Call.each_by_place(call, args, layout, run, shared)
  local verdicts, at, width = {}, layout.args.count, layout.item.width
  for n = 1, tonumber(args[at]) do
    verdicts[n] = run(call, args, at, shared)
    at = at + width
  end
  return verdicts
end

-- What a verb answered to its last calls that changed a task or a queue: a call that is sent again after a lost reply gets the same answer,
-- whatever has happened since. A field of the hash has "token=verdict …", the newest first. A token is a letter for the verb, followed by the
-- fence or a word unique to the call. Several calls that write output of one task may be underway.
local MAX_ANSWERS = 3

-- The answer to a token; nil if there is none. stored: the field.
local function answer_to(stored, token)
  return stored and string.match(' ' .. stored .. ' ', ' ' .. token .. '=(%S+) ') or nil
end

local function note_answer(key, field, stored, token, verdict)
  local answers, count = token .. '=' .. verdict, 1
  for answer in string.gmatch(stored or '', '%S+') do
    if count == MAX_ANSWERS then break end
    answers, count = answers .. ' ' .. answer, count + 1
  end
  redis.call('HSET', key, field, answers)
end

-- Runs a verb once: run(call, key, of, shared) returns a verdict, and whether that is to be remembered. A repeated call, after a lost reply,
-- gets the verdict that is remembered, whatever has happened since.
--   key, field  the hash that the verb changes, and where it has the answers
--   letter      of the verb, see ANSWER_LETTERS; followed by the call of `of`, or by its fence
function Call.once(call, key, field, letter, run, of, shared)
  local answers, token = redis.call('HGET', key, field), letter .. (of.call or of.fence)
  local known = answer_to(answers, token)
  if known then return known end
  local verdict, counts = run(call, key, of, shared)
  if counts then note_answer(key, field, answers, token, verdict) end
  return verdict
end

-- The same for each item of a verb on tasks.
function Call.each_once(call, letter, items, run, shared)
  local verdicts = {}
  for n, item in ipairs(items) do
    verdicts[n] = Call.once(call, K.task(call, item.id), F.answers, letter, run, item, shared)
  end
  return verdicts
end

return Call
