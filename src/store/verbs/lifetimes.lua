-- For how long tasks are still there.
--
-- args[1…] id: of a task each
--
-- Returns of each the ms until its record goes, as Redis says it: -1 as long as it has not ended, -2 if there is none.

register('lifetimes', { 'no-writes' }, function(keys, args)
  local call, left = Call.untimed(keys), {}
  for n, id in ipairs(args) do left[n] = redis.call('PTTL', K.task(call, id)) end
  return left
end)
