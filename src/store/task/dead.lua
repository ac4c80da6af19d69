-- Dead tasks: runs them again, or deletes them.

local function take_back(call, id, undo)
  redis.call('ZREM', K.waiting(call, Call.own_queue(call, C.undoQueue)), undo)
  redis.call('UNLINK', K.task(call, undo), K.input(call, undo))
  if redis.call('EXISTS', K.steps(call, undo)) == 1 then redis.call('RENAME', K.steps(call, undo), K.steps(call, id)) end
end

-- The attempt that ended the task becomes one of its past attempts.
local function note_end(call, id, key, run)
  local ended, errors = redis.call('HGET', key, F.ended), redis.call('HGET', K.attempts(call, id), T.errors)
  local readable, texts = pcall(cjson.decode, errors or '[]')
  Past.note(call, id, run, 'dead', readable and type(texts) == 'table' and texts[1] or nil, ended or nil)
  Past.add(call, id, '0 ' .. call.now_text .. ' ' .. call.now_text .. ' retried - ')
end

-- Removes the fields of the record that only ended tasks have.
local function revive(call, id, key)
  redis.call('HDEL', key, F.lost, F.uncountedLosses, F.ended, F.expires, F.errorCode, F.deadline, F.presenceMs, F.holds)
  redis.call('HSET', key, F.state, S.waiting)
  redis.call('PERSIST', key)
  redis.call('PERSIST', K.input(call, id))
  redis.call('PERSIST', K.steps(call, id))
  redis.call('PERSIST', K.attempts(call, id))
  redis.call('HDEL', K.attempts(call, id), T.errors)
  -- If its output has expired with its result, it no longer counts towards the limit.
  if redis.call('PERSIST', K.output(call, id)) == 0 then redis.call('HDEL', key, F.output) end
  redis.call('HINCRBY', key, F.restarts, 1)
  Result.drop(call, id, key)
end

-- woken: the queues whose workers must be notified, and how many tasks join each.
local function retry(call, key, item, woken)
  local id = item.id
  local queue, state, priority, run, share, of_key, group =
    unpack(redis.call('HMGET', key, F.queue, F.state, F.priority, F.run, F.share, F.key, F.group))
  if not state then return 'unknown' end
  local refusal, undo = Allowed.refusal_of_retry(call, id, key, queue, state, run)
  if refusal then return refusal end

  note_end(call, id, key, run)
  -- A worker has had the task (it has a run): a cancel must undo its work, so its input is kept.
  if undo then
    take_back(call, id, undo)
    redis.call('HSET', key, F.run, Run.handed_back((Run.parts(run)), 0))
  else
    redis.call('HDEL', key, F.run)
  end
  revive(call, id, key)
  redis.call('ZREM', K.dead(call, queue), id)
  Line.join(call, queue, id, tonumber(priority or C.defaultPriority), Line.next_arrival(call, queue), share, of_key)
  if group then Group.note(call, group, id) end
  Notices.change(call, id, S.waiting)
  woken[queue] = (woken[queue] or 0) + 1
  return 'waiting', true
end

-- Runs dead tasks again: each goes to the end of its class (in a fair or keyed line also of its key), with all its attempts and without its
-- deadline and presence. The task that would undo its work is removed if it has not begun: the steps return to the task, which goes on
-- after them. Returns a verdict of each: "waiting", "unknown", or why it cannot be run again: see allowed.lua.
register('retry', {}, function(call, asked)
  local woken = {}
  local verdicts = Call.each_once(call, A.retry, asked.items, retry, woken)
  Keyed.write(call)
  for queue, joined in pairs(woken) do
    Warmup.note_need(call, queue, joined)
    Notices.work(call, queue)
  end
  Notices.send(call)
  return verdicts
end)

local function delete_some(call, _, asked)
  local dead = redis.call('ZPOPMIN', K.dead(call, asked.queue), asked.limit)
  for n = 1, #dead, 2 do Settle.delete(call, dead[n], K.task(call, dead[n])) end
  return #dead / 2, #dead > 0
end

-- Deletes dead tasks with all they hold, the oldest first. Returns how many were deleted; as many as the limit if there may be more.
register('deleteDead', { 'allow-oom' }, function(call, asked)
  local deleted = Call.once(call, K.queue(call, asked.queue), Q.answers, A.deleteDead, delete_some, asked)
  Notices.send(call)
  return tonumber(deleted)
end)
