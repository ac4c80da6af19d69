-- Keeps the names of all queues there are, with what time does to their tasks, so that any process can look after a queue whose
-- handler no process has any more.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  forget after: ms after which a queue that nobody has a handler for is forgotten, when it holds no tasks; "" when the others
--          are not asked for
-- ARGV[2]  count: number of queues that the process has a handler for, each with the six arguments that follow
-- ARGV[3…] queue, lost limit (losses a task survives), keep (ms), tombstone (ms), dead (ms that dead tasks stay), lease (ms)
--
-- Returns of each queue, this process's own among them, these six (the lease "" where it is unknown) and how long ago it was registered (ms)
-- in one list; nothing where they are not asked for.
-- flags: allow-oom
local base = KEYS[1]
--#include clock

local forget_after, count = tonumber(ARGV[1]), tonumber(ARGV[2])
local registry = K.queues
local own, leases = {}, {}
for n = 0, count - 1 do
  local queue, most_lost, keep, tombstone, dead, lease = unpack(ARGV, 3 + n * 6, 8 + n * 6)
  own[2 * n + 1], own[2 * n + 2] = queue, now_text .. ' ' .. most_lost .. ' ' .. keep .. ' ' .. tombstone .. ' ' .. dead
  leases[2 * n + 1], leases[2 * n + 2] = 'lease ' .. queue, lease
end
if count > 0 then
  redis.call('HSET', registry, unpack(own))
  redis.call('HSET', K.ticked, unpack(leases))
end

if not forget_after then return {} end
local queues = {}
local all, known = redis.call('HGETALL', registry), {}
for n = 1, #leases, 2 do known[leases[n]] = leases[n + 1] end
for n = 1, #all, 2 do
  local queue = all[n]
  local at, most_lost, keep, tombstone, dead = string.match(all[n + 1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  local silent = now - tonumber(at)
  local holds = silent < forget_after
    or redis.call('EXISTS', K.waiting(queue), K.scheduled(queue), K.leases(queue), K.dead(queue)) > 0
  if holds then
    local field = 'lease ' .. queue
    local lease = known[field] or redis.call('HGET', K.ticked, field) or ''
    for _, fact in ipairs({ queue, most_lost, keep, tombstone, dead, lease, whole(math.max(0, silent)) }) do
      queues[#queues + 1] = fact
    end
  else
    redis.call('HDEL', registry, queue)
    redis.call('HDEL', K.ticked, 'lease ' .. queue, 'back ' .. queue)
  end
end
return queues
