-- Keeps the names of all queues there are, with what time does to their tasks, so that any process can look after a queue whose
-- handler no process has any more.
--
-- args[1]  forget after: ms after which a queue that nobody has a handler for is forgotten, when it holds no tasks; "" when the others
--          are not asked for
-- args[2]  count: number of queues that the process has a handler for, each with the six arguments that follow
-- args[3…] queue, lost limit (losses a task survives), keep (ms), tombstone (ms), dead (ms that dead tasks stay), lease (ms)
--
-- Returns of each queue, this process's own among them, these six (the lease "" where it is unknown) and how long ago it was registered (ms)
-- in one list; nothing where they are not asked for.

local whole = Number.whole

-- Notes the queues of a process. Returns the lease of each, by the field that has it.
local function note(call, args, count)
  local own, fields, leases = {}, {}, {}
  for n = 1, count do
    local queue, most_lost, keep, tombstone, dead, lease = unpack(args, n * 6 - 3, n * 6 + 2)
    local field = 'lease ' .. queue
    own[2 * n - 1], own[2 * n] = queue, call.now_text .. ' ' .. most_lost .. ' ' .. keep .. ' ' .. tombstone .. ' ' .. dead
    fields[2 * n - 1], fields[2 * n] = field, lease
    leases[field] = lease
  end
  if count > 0 then
    redis.call('HSET', K.queues(call), unpack(own))
    redis.call('HSET', K.ticked(call), unpack(fields))
  end
  return leases
end

local function holds_tasks(call, queue)
  return redis.call('EXISTS', K.waiting(call, queue), K.scheduled(call, queue), K.leases(call, queue), K.dead(call, queue)) > 0
end

register('register', { 'allow-oom' }, function(keys, args)
  local call, forget_after = Call.new(keys), tonumber(args[1])
  local leases = note(call, args, tonumber(args[2]))
  if not forget_after then return {} end

  local queues, all = {}, redis.call('HGETALL', K.queues(call))
  for n = 1, #all, 2 do
    local queue, field = all[n], 'lease ' .. all[n]
    local at, most_lost, keep, tombstone, dead = string.match(all[n + 1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
    local silent = call.now - tonumber(at)
    if silent < forget_after or holds_tasks(call, queue) then
      local lease = leases[field] or redis.call('HGET', K.ticked(call), field) or ''
      for _, fact in ipairs({ queue, most_lost, keep, tombstone, dead, lease, whole(math.max(0, silent)) }) do
        queues[#queues + 1] = fact
      end
    else
      redis.call('HDEL', K.queues(call), queue)
      redis.call('HDEL', K.ticked(call), field, 'back ' .. queue)
    end
  end
  return queues
end)
