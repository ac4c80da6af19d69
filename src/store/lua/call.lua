-- The context of one call of a verb, passed to every function that needs any of it:
--   base       the partition's tag, with which all its keys begin
--   now        ms; now_text: the same as text; now_exact: with fractions
--   notices    notices for listening processes, see notices.lua; nil for none
--   groups     the groups that have changed, see notices.lua; nil for none
--   work       the queues whose workers get a message of work, see notices.lua; nil for none
--   counts     counts of queues, see rate.lua; nil for none
--   stay       how long the task that it ended last is kept, see result.lua; nil for none
--   keyed      facts and decisions about keyed lines, see keyed.lua; nil for none
local Call = {}

-- The time of Redis: no client's clock orders tasks or ends a lease.
function Call.new(keys)
  local time = redis.call('TIME')
  local exact = time[1] * 1000 + time[2] / 1000
  local now = exact - exact % 1
  return {
    base = keys[1],
    now = now,
    now_exact = exact,
    now_text = Number.whole(now),
    notices = nil,
    groups = nil,
    work = nil,
    counts = nil,
    stay = nil,
    keyed = nil,
  }
end

-- The context of a call that does not depend on the time.
function Call.untimed(keys)
  return { base = keys[1], notices = nil, groups = nil, work = nil, counts = nil, keyed = nil }
end

-- The name that a queue of the server's own has in this partition, see internal-queues.ts.
function Call.own_queue(call, name)
  local partition = string.match(call.base, ':(%d+)}$')
  return partition == '0' and name or name .. '.' .. partition
end

-- The next place in line of a queue: unique, and later than all earlier ones even if the clock was set back.
function Call.next_hlc(call, last)
  return math.max(last + 1, math.floor((call.now_exact - C.epochMs) * 16))
end

-- Runs a verb for each of its items: run(call, args, at, shared), where args[at + ITEM.id] is an argument of the item. Returns the verdicts.
--   layout  of the verb, with `item`
function Call.each(call, args, layout, run, shared)
  local verdicts, at, width = {}, layout.args.count, layout.item.width
  for n = 1, tonumber(args[at]) do
    verdicts[n] = run(call, args, at, shared)
    at = at + width
  end
  return verdicts
end

return Call
