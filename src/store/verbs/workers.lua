-- The live workers of queues.
--
-- args[1]  most: workers of each queue, and of all
-- args[2…] queue: a name each
--
-- Returns {now (ms), {{queue, worker, slots}, …}, {{worker, about, left}, …}}: what a worker has reported about itself, "" if nothing, and
-- for how many ms that holds.

register('workers', { 'no-writes' }, function(keys, args)
  local call, most = Call.new(keys), tonumber(args[1])
  local slots, abouts, seen = {}, {}, {}
  for n = 2, #args do
    local queue = args[n]
    local live = redis.call('ZRANGEBYSCORE', K.workers(call, queue), '(' .. call.now_text, '+inf', 'LIMIT', 0, most)
    for _, worker in ipairs(live) do
      slots[#slots + 1] = { queue, worker, redis.call('HGET', K.slots(call, queue), worker) or '0' }
      if not seen[worker] and #abouts < most then
        seen[worker] = true
        local key = K.about(call, worker)
        abouts[#abouts + 1] = { worker, redis.call('GET', key) or '', redis.call('PTTL', key) }
      end
    end
  end
  return { call.now_text, slots, abouts }
end)
