-- Keeps the names of all queues, with the settings that ticks need, so that any process can maintain a queue whose handler no process has
-- any more.

local whole = Number.whole

-- Registers the queues of a process. Returns the lease of each, by its field.
local function note(call, queues)
  local own, fields, leases, undeclared = {}, {}, {}, {}
  for n, of in ipairs(queues) do
    local queue, lease = of.queue, whole(of.leaseMs)
    local ends = { call.now_text, whole(of.maxLost), whole(of.keepMs), whole(of.tombstoneMs), whole(of.deadMs) }
    local field, declared = 'lease ' .. queue, 'warmup ' .. queue
    own[2 * n - 1], own[2 * n] = queue, table.concat(ends, ' ')
    fields[#fields + 1], fields[#fields + 2] = field, lease
    leases[field] = lease
    if of.rate == '' then
      redis.call('HDEL', K.queue(call, queue), Q.rate)
    else
      redis.call('HSET', K.queue(call, queue), Q.rate, of.rate)
    end
    if of.warmup == '' then
      undeclared[#undeclared + 1] = declared
    else
      fields[#fields + 1], fields[#fields + 2] = declared, of.warmup
    end
  end
  if #queues > 0 then
    redis.call('HSET', K.queues(call), unpack(own))
    redis.call('HSET', K.ticked(call), unpack(fields))
    if #undeclared > 0 then redis.call('HDEL', K.ticked(call), unpack(undeclared)) end
  end
  return leases
end

local function holds_tasks(call, queue)
  return redis.call('EXISTS', K.waiting(call, queue), K.scheduled(call, queue), K.leases(call, queue), K.dead(call, queue)) > 0
end

-- Returns the queues, this process's own among them; nothing if they are not requested. A queue without a handler and without tasks is
-- deleted after a time.
register('register', { 'allow-oom' }, function(call, asked)
  local delete_after, leases = asked.deleteAfterMs, note(call, asked.queues)
  local queues, all = {}, delete_after and redis.call('HGETALL', K.queues(call)) or {}
  for n = 1, #all, 2 do
    local queue, field = all[n], 'lease ' .. all[n]
    local at, max_lost, keep, tombstone, dead = string.match(all[n + 1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
    local silent = call.now - tonumber(at)
    if silent < delete_after or holds_tasks(call, queue) then
      local lease = leases[field] or redis.call('HGET', K.ticked(call), field)
      queues[#queues + 1] = {
        queue = queue,
        maxLost = tonumber(max_lost),
        keepMs = tonumber(keep),
        tombstoneMs = tonumber(tombstone),
        deadMs = tonumber(dead),
        leaseMs = lease and tonumber(lease) or cjson.null,
        silentMs = math.max(0, silent),
      }
    else
      redis.call('HDEL', K.queues(call), queue)
      redis.call('HDEL', K.ticked(call), field, 'warmup ' .. queue, 'back ' .. queue)
    end
  end
  return queues
end)
