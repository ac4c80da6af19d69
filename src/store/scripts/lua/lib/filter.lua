-- Which tasks of a list are wanted. Needs clock. "" stands for any:
--   prefix  what their ids begin with
--   caller
--   key     whose share they take, or which others of their key they wait for: as it is stored, see engine/submission/submission.ts
--   states  their letters
--   before  created then or earlier, ms
--   age     created so long ago or longer, ms
-- Returns a function that takes the id and score of an entry, and in a list of finished tasks when its task ended: one that was run
-- again or destroyed since is not wanted. It returns {id, score, key, run} if the task is wanted, else nil; key and run (see run.lua) are
-- "" if it has none.
local function filter(prefix, caller, key, states, before, age)
  local latest = math.min(tonumber(before) or math.huge, age ~= '' and now - age or math.huge)
  return function(id, score, ended)
    if string.sub(id, 1, #prefix) ~= prefix then return nil end
    local t = redis.call('HMGET', K.task(id), F.state, F.caller, F.created, F.key, F.share, F.run, F.ended, F.destroyed)
    if ended and (t[7] ~= ended or t[8]) then return nil end
    local name = t[4] and string.match(t[4], '^%d+ (.*)$') or t[5] and string.match(t[5], '^%S+ (.*)$') or ''
    local wanted = (caller == '' or t[2] == caller)
      and (key == '' or name == key)
      and (states == '' or (t[1] and string.find(states, t[1], 1, true)))
      and (latest == math.huge or (tonumber(t[3]) or 0) <= latest)
    if not wanted then return nil end
    return { id, score, name, t[6] or '' }
  end
end
