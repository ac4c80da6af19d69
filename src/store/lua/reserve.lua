-- Takes the first waiting tasks of a queue for a worker, each under a lease and a fence.
-- The same reservation sent again is answered with the same tasks, so that a lost reply loses no work.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
-- ARGV[2]  worker: the id of the worker process
-- ARGV[3]  reservation: unique to this request of the worker
-- ARGV[4]  count: the most tasks to take
-- ARGV[5]  lease: ms
--
-- Returns {tasks, waiting}: each task {id, fence, attempt, lost, created, input, media type, query, caller} with "" for
-- what it does not have, and how many still wait; waiting is -1 while the queue is paused.
-- flags: allow-oom
local base = KEYS[1]
--#include clock

local queue, worker, reservation = ARGV[1], ARGV[2], ARGV[3]
local count, lease = tonumber(ARGV[4]), tonumber(ARGV[5])
local line, leases = base .. 'w:' .. queue, base .. 'l:' .. queue
local counters = base .. 'q:' .. queue
local reservations = base .. 'v:' .. queue

local function handed(id, t)
  local input = t[1] or redis.call('GET', base .. 'b:' .. id) or ''
  return { id, t[2], t[3] or '0', t[4] or '0', t[5] or '0', input, t[6] or '', t[7] or '', t[8] or '' }
end

local last = redis.call('HGET', reservations, worker)
if last and string.sub(last, 1, #reservation + 1) == reservation .. ' ' then
  local tasks = {}
  for id in string.gmatch(string.sub(last, #reservation + 2), '%S+') do
    local t = redis.call('HMGET', base .. 't:' .. id, 'i', 'f', 'a', 'l', 'c', 'm', 'u', 'z', 's', 'w')
    if t[9] == 'r' and t[10] == worker then tasks[#tasks + 1] = handed(id, t) end
  end
  return { tasks, redis.call('ZCARD', line) }
end

local q = redis.call('HMGET', counters, 'paused', 'fence')
if q[1] == '1' then return { {}, -1 } end

local fence = tonumber(q[2] or 0)
local tasks, ids, healed = {}, {}, 0
local entries = redis.call('ZPOPMIN', line, count)
for n = 1, #entries, 2 do
  local id, score = entries[n], entries[n + 1]
  local key = base .. 't:' .. id
  local t = redis.call('HMGET', key, 'i', 'f', 'a', 'l', 'c', 'm', 'u', 'z', 's')
  if t[9] == 'w' then
    fence = math.max(fence + 1, (now - EPOCH) * 1024)
    t[2], t[3] = whole(fence), whole(tonumber(t[3] or 0) + 1)
    redis.call('HSET', key, 's', 'r', 'f', t[2], 'a', t[3], 'o', whole(tonumber(score)), 'b', whole(now), 'w', worker)
    redis.call('ZADD', leases, whole(now + lease), id)
    redis.call('PUBLISH', base .. 'e:' .. id, 'r')
    tasks[#tasks + 1] = handed(id, t)
    ids[#ids + 1] = id
  else
    -- An entry whose task is gone or is not waiting (memory evicted, a key deleted by hand) must not block the line.
    healed = healed + 1
  end
end
if #ids > 0 then
  redis.call('HSET', counters, 'fence', whole(fence))
  redis.call('HSET', reservations, worker, reservation .. ' ' .. table.concat(ids, ' '))
end
if healed > 0 then redis.call('HINCRBY', counters, 'healed', healed) end
return { tasks, redis.call('ZCARD', line) }
