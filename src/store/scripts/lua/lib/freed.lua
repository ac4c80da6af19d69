-- The queues of which tasks may start that could not before: true where nobody else could, so that free slots wait for them.
local freed = {}

-- Tells workers of tasks that may start now; but: a queue of which they need not be told.
local function tell_freed(but)
  for queue, alone in pairs(freed) do
    if alone and queue ~= but then redis.call('PUBLISH', K.work(queue), '') end
  end
end
