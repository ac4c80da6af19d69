-- How a stored task gets into the line of its queue. New tasks: see submission.lua.
local Line = {}

local whole = Number.whole

-- The arrival of a task that joins now.
function Line.next_arrival(call, queue)
  local counters = K.queue(call, queue)
  local hlc = Call.next_hlc(call, tonumber(redis.call('HGET', counters, Q.hlc) or 0))
  redis.call('HSET', counters, Q.hlc, whole(hlc))
  return hlc
end

-- When a task joined the line, ms; after a burst this may be ahead of the clock.
--   place    its score
--   created, joined  its fields, for a fair line: there a score is no time
function Line.joined_at(place, created, joined)
  if Fair.is_fair(place) then return tonumber(joined or created) end
  return C.epochMs + math.floor(place % C.classSpan / 16)
end

-- Puts a task into a class by its arrival; in a fair line (share) at the end of its line key.
function Line.put(call, queue, id, class, hlc, share)
  if share then return Fair.rejoin(call, queue, id, class, share) end
  redis.call('ZADD', K.waiting(call, queue), whole(class * C.classSpan + hlc), id)
end

-- A task joins the end of its class, in a fair or keyed line also of its line key.
function Line.join(call, queue, id, class, hlc, share, of_key)
  Line.put(call, queue, id, class, hlc, share)
  if share then redis.call('HSET', K.task(call, id), F.joined, call.now_text) end
  Keyed.rejoin(call, queue, id, of_key, whole(hlc))
end

-- The name of the share or of the line key of a task, "" for none; of the fields of its record.
function Line.key_of(key, share)
  return key and string.match(key, '^%d+ (.*)$') or share and string.match(share, '^%S+ (.*)$') or ''
end

-- A task returns to its old place.
--   holds  whether it holds its key, see keyed.lua
function Line.put_back(call, queue, id, place, of_key, holds)
  redis.call('ZADD', K.waiting(call, queue), place, id)
  Keyed.put(call, queue, id, of_key, holds and Keyed.held)
end

return Line
