-- Runs dead tasks again: each goes to the end of its class (in a fair or keyed line also of its key), with all its attempts and without
-- its deadline. The task that would undo its work is removed if it has not begun: the steps return to the task, which goes on after them.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  count: number of tasks, each with the two arguments that follow
-- ARGV[2…] id, call (a word that only this call has)
--
-- Returns a verdict of each: "waiting", "not-dead" (in any other state, or its input is gone), "undone" (its work has been undone,
-- or is just being undone), "unknown".
local base = KEYS[1]
--#include clock
--#include run
--#include past
--#include freed
--#include keyed
--#include input
--#include large
--#include result
--#include answers
--#include notify
--#include fair
--#include share

-- The task that undoes the work of another, where there is one and no worker has had it.
local function waiting_undo(id, queue, called, fence)
  local undo = id .. ':undo:' .. queue
  if called == '2' then undo = undo .. ':' .. fence end
  local state, run = unpack(redis.call('HMGET', K.task(undo), F.state, F.run))
  return state == S.waiting and not run and undo
end

local function take_back(id, undo)
  redis.call('ZREM', K.waiting(C.undoQueue), undo)
  redis.call('UNLINK', K.task(undo), K.input(undo))
  if redis.call('EXISTS', K.steps(undo)) == 1 then redis.call('RENAME', K.steps(undo), K.steps(id)) end
  redis.call('HDEL', K.task(id), F.undoing)
end

local verdicts, woken = {}, {}
for n = 1, tonumber(ARGV[1]) do
  local id, call = ARGV[n * 2], ARGV[n * 2 + 1]
  local key = K.task(id)
  local queue, state, digest, priority, answers, undoing, run, share, of_key =
    unpack(redis.call('HMGET', key, F.queue, F.state, F.digest, F.priority, F.answers, F.undoing, F.run, F.share, F.key))
  local fence = run_of(run)
  local known = answered(answers, A.retry .. call)
  local undo = undoing and waiting_undo(id, queue, undoing, fence)
  if not state then
    verdicts[n] = 'unknown'
  elseif known then
    verdicts[n] = known
  elseif state ~= S.failed or not redis.call('ZSCORE', K.dead(queue), id)
    or (digest and not has_input(id, key)) then
    verdicts[n] = 'not-dead'
  elseif undoing and not undo then
    verdicts[n] = 'undone'
  else
    local ended, errors = unpack(redis.call('HMGET', key, F.ended, F.errors))
    local readable, texts = pcall(cjson.decode, errors or '[]')
    note_past(key, run, 'dead', readable and type(texts) == 'table' and texts[1] or nil, ended or nil)
    add_past(key, '0 ' .. now_text .. ' ' .. now_text .. ' retried - ')
    -- A run says that a worker has had it: as long as its work stands, a cancel has it undone and its input stays.
    if undo then
      take_back(id, undo)
      redis.call('HSET', key, F.run, handed_back(fence, 0))
    else
      redis.call('HDEL', key, F.run)
    end
    local last, limit = unpack(redis.call('HMGET', K.queue(queue), Q.hlc, Q.keyed))
    local hlc = tick_hlc(tonumber(last or 0))
    key_limit(queue, limit)
    redis.call('HSET', K.queue(queue), Q.hlc, whole(hlc))
    redis.call('HDEL', key, F.lost, F.unbegunReleases, F.ended, F.expires, F.errorCode, F.errors, F.deadline)
    redis.call('HSET', key, F.state, S.waiting)
    redis.call('PERSIST', key)
    redis.call('PERSIST', K.input(id))
    redis.call('PERSIST', K.steps(id))
    -- If what it had written has gone with its result, none of it counts any more.
    if redis.call('PERSIST', K.output(id)) == 0 then redis.call('HDEL', key, F.output) end
    redis.call('HINCRBY', key, F.restarts, 1)
    drop_result(id, key)
    redis.call('ZREM', K.dead(queue), id)
    local class = tonumber(priority or C.defaultPriority)
    local score = whole(class * CLASS + hlc)
    if share then
      score = rejoin_fair(queue, id, class, share)
    else
      redis.call('ZADD', K.waiting(queue), score, id)
    end
    rejoin_key(queue, id, of_key, score, whole(hlc))
    notify(id, S.waiting)
    woken[queue] = true
    verdicts[n] = 'waiting'
    note_answer(key, answers, A.retry .. call, 'waiting')
  end
end
open_freed()
for queue in pairs(woken) do redis.call('PUBLISH', K.work(queue), '') end
send_notices()
return verdicts
