-- Groups: one number for many tasks. All members of a group are in its partition, and every verb that changes the state or the place of one
-- ends with Group.note, which copies them from the record and the line. A second call changes nothing, and verify.lua heals by the same code.
--   K.members      the members in the order in which they joined: the line that brought each
--   K.memberEnds   those that have ended, in the order in which they did
--   K.memberStates their states: score = the number of the state·C.memberSpan + when it is due, has begun or has ended, ms; so that counts
--                  are counts of scores
--   K.memberLine   the members that wait in line, with their scores there
--   K.groups       the groups that a tick must close or go on canceling, and when, ms
local Group = {}

local whole = Number.whole
local SPAN = C.memberSpan
local NUMBERS = {
  [S.waiting] = 0, [S.scheduled] = 1, [S.retrying] = 2, [S.running] = 3, [S.succeeded] = 5, [S.failed] = 6, [S.canceled] = 7,
}
local LISTS = { K.members, K.memberEnds, K.memberStates, K.memberLine }
-- Running, and a cancel was requested.
local CANCELING, FIRST_END, STATES = 4, 5, 8

-- The scores of a member in K.memberStates and in K.memberLine (nil unless it waits); and if it has ended, the expiry of its result. Nil
-- without a record, or if a later task has its id.
local function stand(call, group, id)
  local queue, state, cancel, run, ended, expires, of_group =
    unpack(redis.call('HMGET', K.task(call, id), F.queue, F.state, F.cancel, F.run, F.ended, F.expires, F.group))
  local number, time, place = NUMBERS[state], 0, nil
  if not number or of_group ~= group then return nil end
  if state == S.waiting then
    place = redis.call('ZSCORE', K.waiting(call, queue), id) or nil
  elseif state == S.running then
    local fence, late = Run.parts(run)
    time = fence and Run.begun(fence, late) or 0
    if cancel then number = CANCELING end
  else
    time = number >= FIRST_END and tonumber(ended) or tonumber(redis.call('ZSCORE', K.scheduled(call, queue), id) or 0)
  end
  return number * SPAN + time, place, number >= FIRST_END and tonumber(expires)
end

-- How many members have not ended.
local function pending(call, group)
  return redis.call('ZCOUNT', K.memberStates(call, group), '-inf', '(' .. whole(FIRST_END * SPAN))
end

-- Some of the members that have not ended and whose cancel is not requested.
function Group.to_cancel(call, group, max)
  return redis.call('ZRANGEBYSCORE', K.memberStates(call, group), '-inf', '(' .. whole(CANCELING * SPAN), 'LIMIT', 0, max)
end

-- It is not canceled any more because nobody looks at it.
local function leave_presence(call, group)
  local key = K.group(call, group)
  local queue, presence = unpack(redis.call('HMGET', key, G.queue, G.presenceMs))
  if not presence then return end
  redis.call('HDEL', key, G.presenceMs)
  redis.call('ZREM', K.deadlines(call, queue), Deadlines.entry_of_group(group))
end

-- Somebody is there for it: it may go without another look for as long as its presence.
function Group.attend(call, group)
  local queue, presence = unpack(redis.call('HMGET', K.group(call, group), G.queue, G.presenceMs))
  if presence then Deadlines.enter(call, queue, Deadlines.entry_of_group(group), nil, presence) end
  return presence and 'kept' or queue and 'gone' or 'unknown'
end

-- Ends a closed group when its last member has ended. Its webhook is sent once, even if a dead member is run again.
local function finish_if_over(call, group)
  local key = K.group(call, group)
  local closed, canceled, finished, expires, keep, tombstone, webhook, sent = unpack(redis.call(
    'HMGET', key, G.closed, G.canceled, G.finished, G.expires, G.keepMs, G.tombstoneMs, G.webhook, G.webhookSent
  ))
  if not closed or finished or pending(call, group) > 0 then return end
  expires = math.max(tonumber(expires or 0), call.now + tonumber(keep))
  redis.call('HSET', key, G.finished, call.now_text, G.expires, whole(expires))
  redis.call('HDEL', key, G.canceling)
  redis.call('ZREM', K.groups(call), group)
  leave_presence(call, group)
  local left = whole(expires - call.now)
  for _, kind in ipairs(LISTS) do redis.call('PEXPIRE', kind(call, group), left) end
  redis.call('PEXPIRE', key, whole(expires - call.now + tombstone))
  if not webhook or sent then return end
  redis.call('HSET', key, G.webhookSent, '1')
  Follow.tell_group_webhook(call, group, canceled and 'canceled' or 'done', webhook)
end

-- A member of a finished group runs again.
local function reopen(call, group)
  local key = K.group(call, group)
  if redis.call('HDEL', key, G.finished) == 0 then return end
  redis.call('PERSIST', key)
  for _, kind in ipairs(LISTS) do redis.call('PERSIST', kind(call, group)) end
end

-- How many members have ended so far, also those that have run again since.
function Group.ends(call, group)
  local last = redis.call('ZRANGE', K.memberEnds(call, group), -1, -1, 'WITHSCORES')[2]
  return last and last + 1 or 0
end

-- Copies the state and place of a member; to be called once its record and its place are written.
function Group.note(call, group, id)
  local states, line = K.memberStates(call, group), K.memberLine(call, group)
  local before, ends = redis.call('ZSCORE', states, id), K.memberEnds(call, group)
  -- The group has expired.
  if not before then return end
  Notices.group(call, group)
  local score, place, expires = stand(call, group, id)
  if not score then return end
  redis.call('ZADD', states, whole(score), id)
  if place then redis.call('ZADD', line, place, id) else redis.call('ZREM', line, id) end
  if not expires then
    if tonumber(before) >= FIRST_END * SPAN then redis.call('ZREM', ends, id) end
    return reopen(call, group)
  end
  if not redis.call('ZSCORE', ends, id) then redis.call('ZADD', ends, whole(Group.ends(call, group)), id) end
  local key = K.group(call, group)
  if expires > tonumber(redis.call('HGET', key, G.expires) or 0) then redis.call('HSET', key, G.expires, whole(expires)) end
  finish_if_over(call, group)
end

-- Whether a group accepts members from a caller; each new member keeps it open for longer.
function Group.is_open(call, group, caller)
  local key = K.group(call, group)
  local owner, closed, open_ms = unpack(redis.call('HMGET', key, G.caller, G.closed, G.openMs))
  if not owner or owner ~= caller or closed then return false end
  redis.call('ZADD', K.groups(call), whole(call.now + open_ms), group)
  return true
end

-- The line of the member that joined last; nil without members.
local function last_line(call, group)
  return tonumber(redis.call('ZRANGE', K.members(call, group), -1, -1, 'WITHSCORES')[2])
end

-- Whether it has no members yet: until then it is not known to anyone.
function Group.is_empty(call, group)
  return redis.call('EXISTS', K.members(call, group)) == 0 and redis.call('HEXISTS', K.group(call, group), G.finished) == 0
end

-- The number of the first line of its next batch.
function Group.next_line(call, group)
  return math.max(tonumber(redis.call('HGET', K.group(call, group), G.lines) or 0), (last_line(call, group) or -1) + 1)
end

-- Adds a new task to its group. If the record of an earlier one with its id has gone, it takes the place of that one.
--   line   that brought it; a later one if another batch has taken this
--   place  its score in line; nil for one that is due at a time (ms)
function Group.enter(call, group, id, line, place, due)
  Notices.group(call, group)
  redis.call('ZADD', K.members(call, group), 'NX', whole(math.max(tonumber(line), (last_line(call, group) or -1) + 1)), id)
  redis.call('ZREM', K.memberEnds(call, group), id)
  redis.call('ZADD', K.memberStates(call, group), place and '0' or whole(NUMBERS[S.scheduled] * SPAN + due), id)
  if place then redis.call('ZADD', K.memberLine(call, group), place, id) end
end

-- Closes it: it accepts no more members. Without any, it is as if it had never been.
function Group.close(call, group)
  local key = K.group(call, group)
  if Group.is_empty(call, group) then
    leave_presence(call, group)
    redis.call('UNLINK', key)
    redis.call('ZREM', K.groups(call), group)
    return
  end
  local queue, closed = unpack(redis.call('HMGET', key, G.queue, G.closed))
  if not closed then redis.call('ZREM', K.groups(call), group) end
  if not queue then return end
  redis.call('HSETNX', key, G.closed, call.now_text)
  Notices.group(call, group)
  finish_if_over(call, group)
end

-- Closes it, and begins to cancel the members that have not ended: see Settle.cancel_members.
--   by  why, see Settle.cancel
function Group.begin_cancel(call, group, by)
  local key = K.group(call, group)
  redis.call('HSETNX', key, G.closed, call.now_text)
  redis.call('HSETNX', key, G.canceled, call.now_text)
  redis.call('HSETNX', key, G.canceling, by)
  leave_presence(call, group)
  redis.call('ZADD', K.groups(call), call.now_text, group)
  Notices.group(call, group)
end

-- For verify.lua: whether the group agrees with the record of a member; heals it if asked to.
function Group.agrees(call, heal, group, id)
  local states, line = K.memberStates(call, group), K.memberLine(call, group)
  local stored, stored_place = redis.call('ZSCORE', states, id), redis.call('ZSCORE', line, id)
  local score, place = stand(call, group, id)
  if not stored then
    local owner, finished, expires = unpack(redis.call('HMGET', K.group(call, group), G.caller, G.finished, G.expires))
    -- Its group has gone, and another caller's may have the id.
    if not score or owner ~= (redis.call('HGET', K.task(call, id), F.caller) or '') then return true end
    if finished and tonumber(expires) <= call.now then return true end
    if heal then
      redis.call('ZADD', states, whole(score), id)
      redis.call('ZADD', K.members(call, group), 'NX', whole(Group.next_line(call, group)), id)
      Group.note(call, group, id)
    end
    return false
  end
  if not score then
    -- A member that has ended outlives its record; any other has been lost by the store.
    if tonumber(stored) >= FIRST_END * SPAN then return true end
    if heal then
      redis.call('ZREM', states, id)
      redis.call('ZREM', line, id)
      finish_if_over(call, group)
    end
    return false
  end
  local agrees = tonumber(stored) == score and (tonumber(stored_place or nil) == tonumber(place or nil))
    and (score < FIRST_END * SPAN or redis.call('ZSCORE', K.memberEnds(call, group), id))
  if heal and not agrees then Group.note(call, group, id) end
  return agrees
end

-- The same for the group itself: whether a tick will close it or go on canceling it, and whether it has finished if it should have.
function Group.is_kept(call, heal, group)
  local queue, closed, canceling, finished, presence =
    unpack(redis.call('HMGET', K.group(call, group), G.queue, G.closed, G.canceling, G.finished, G.presenceMs))
  if not queue or finished then return true end
  local is_due = not closed or canceling
  local agrees = (not is_due or redis.call('ZSCORE', K.groups(call), group)) and (not closed or pending(call, group) > 0)
    and (not presence or redis.call('ZSCORE', K.deadlines(call, queue), Deadlines.entry_of_group(group)))
  if heal and not agrees then
    Group.attend(call, group)
    if is_due then redis.call('ZADD', K.groups(call), call.now_text, group) end
    finish_if_over(call, group)
  end
  return agrees
end

-- How many members there are in each state, in the order of their numbers.
function Group.counts(call, group)
  local states, counts = K.memberStates(call, group), {}
  for number = 0, STATES - 1 do
    counts[number + 1] = redis.call('ZCOUNT', states, whole(number * SPAN), '(' .. whole((number + 1) * SPAN))
  end
  return counts
end

-- The last member that waits in line, and its score there; nothing if none waits.
function Group.last_in_line(call, group)
  return unpack(redis.call('ZRANGE', K.memberLine(call, group), -1, -1, 'WITHSCORES'))
end

-- The latest time of the members in some states; nil for none.
local function latest(call, group, first, last)
  local entry = redis.call(
    'ZREVRANGEBYSCORE', K.memberStates(call, group), '(' .. whole((last + 1) * SPAN), whole(first * SPAN), 'WITHSCORES', 'LIMIT', 0, 1
  )
  return entry[2] and entry[2] % SPAN
end

-- When the latest scheduled or retrying member is due.
function Group.latest_due(call, group)
  return latest(call, group, NUMBERS[S.scheduled], NUMBERS[S.retrying])
end

-- When the latest running member began.
function Group.latest_begun(call, group)
  return latest(call, group, NUMBERS[S.running], CANCELING)
end

-- The state of the stored score of a member, as its number.
function Group.number(score)
  return math.floor(score / SPAN)
end

return Group
