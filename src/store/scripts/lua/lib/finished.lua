-- The latest outcomes of a queue, the newest first: a list of "ended id", ended in ms. What has become of the task since is looked up
-- by its readers. It is cut when so many more are there.
local MORE_FINISHED = 100
local function note_finished(queue, entries)
  local key = K.finished(queue)
  if redis.call('LPUSH', key, unpack(entries)) > C.mostFinished + MORE_FINISHED then
    redis.call('LTRIM', key, 0, C.mostFinished - 1)
  end
end
