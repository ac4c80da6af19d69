-- Keeps the names of all queues, with the settings that ticks need, so that any process can maintain a queue whose handler no process has
-- any more.

local whole = Number.whole
local ARGS, OWN, REGISTERED = Layout.register.args, Layout.register.item, Layout.register.registered

-- Registers the queues of a process. Returns the lease of each, by its field.
local function note(call, args)
  local own, fields, leases, undeclared, count = {}, {}, {}, {}, tonumber(args[ARGS.count])
  for n = 1, count do
    local at = ARGS.count + (n - 1) * OWN.width
    local queue, lease = args[at + OWN.queue], args[at + OWN.leaseMs]
    local ends = args[at + OWN.keepMs] .. ' ' .. args[at + OWN.tombstoneMs] .. ' ' .. args[at + OWN.deadMs]
    local field = 'lease ' .. queue
    own[2 * n - 1], own[2 * n] = queue, call.now_text .. ' ' .. args[at + OWN.maxLost] .. ' ' .. ends
    fields[#fields + 1], fields[#fields + 2] = field, lease
    leases[field] = lease
    local declared, warmup = 'warmup ' .. queue, args[at + OWN.warmup]
    local rate = args[at + OWN.rate]
    if rate == '' then redis.call('HDEL', K.queue(call, queue), Q.rate) else redis.call('HSET', K.queue(call, queue), Q.rate, rate) end
    if warmup == '' then
      undeclared[#undeclared + 1] = declared
    else
      fields[#fields + 1], fields[#fields + 2] = declared, warmup
    end
  end
  if count > 0 then
    redis.call('HSET', K.queues(call), unpack(own))
    redis.call('HSET', K.ticked(call), unpack(fields))
    if #undeclared > 0 then redis.call('HDEL', K.ticked(call), unpack(undeclared)) end
  end
  return leases
end

local function holds_tasks(call, queue)
  return redis.call('EXISTS', K.waiting(call, queue), K.scheduled(call, queue), K.leases(call, queue), K.dead(call, queue)) > 0
end

-- Returns the queues, this process's own among them, as lists, the lease "" where it is unknown; nothing if they are not requested. A queue
-- without a handler and without tasks is deleted after a time.
register('register', { 'allow-oom' }, function(keys, args)
  local call, delete_after = Call.new(keys), tonumber(args[ARGS.deleteAfterMs])
  local leases = note(call, args)
  if not delete_after then return {} end

  local queues, all = {}, redis.call('HGETALL', K.queues(call))
  for n = 1, #all, 2 do
    local queue, field = all[n], 'lease ' .. all[n]
    local at, max_lost, keep, tombstone, dead = string.match(all[n + 1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
    local silent = call.now - tonumber(at)
    if silent < delete_after or holds_tasks(call, queue) then
      queues[#queues + 1] = {
        [REGISTERED.queue] = queue,
        [REGISTERED.maxLost] = max_lost,
        [REGISTERED.keepMs] = keep,
        [REGISTERED.tombstoneMs] = tombstone,
        [REGISTERED.deadMs] = dead,
        [REGISTERED.leaseMs] = leases[field] or redis.call('HGET', K.ticked(call), field) or '',
        [REGISTERED.silentMs] = whole(math.max(0, silent)),
      }
    else
      redis.call('HDEL', K.queues(call), queue)
      redis.call('HDEL', K.ticked(call), field, 'warmup ' .. queue, 'back ' .. queue)
    end
  end
  return queues
end)
