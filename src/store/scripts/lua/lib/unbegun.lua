-- A task was reserved whose handler does not begin after all: it has not started, as far as the queue's rate goes, where the queue
-- lies in one partition.
local function forget_start(queue, key)
  local fence, late = run_of(redis.call('HGET', key, F.run))
  local at = begun_of(fence, late)
  if at then redis.call('LREM', K.starts(queue), 1, whole(at)) end
end
