-- Replaces the input of a task that has not begun; it keeps its place, in a keyed line also behind those of its new key that came before it.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
-- ARGV[2]  input
-- ARGV[3]  digest: "" when the input is stored in the hash
-- ARGV[4]  media type: "" for JSON
-- ARGV[5]  query: query parameters for the handler, "" for none
-- ARGV[6]  call: a word that only this call has
-- ARGV[7]  revision: how often it may have been replaced before, "" for any number
-- ARGV[8]  key: of the new input in a keyed line, as submit.lua takes it; "" in any other
--
-- Returns "updated", "conflict" (a worker has or had it, or it is finished), "changed" (it is of
-- another revision) or "unknown".
local base = KEYS[1]
--#include run
--#include freed keyed when called
--#include input
--#include answers
--#include notify

local id, input, digest, media, query = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call, revision, new_key = ARGV[6], ARGV[7], ARGV[8]
local key = K.task(id)
local state, run, answers, replaced, queue, of_key =
  unpack(redis.call('HMGET', key, F.state, F.run, F.answers, F.revision, F.queue, F.key))
if not state then return 'unknown' end
if answered(answers, A.update .. call) then return 'updated' end
-- A fence says that a worker has had it: what it has done for the old input must not be taken for done for the new one.
if (state ~= S.waiting and state ~= S.scheduled) or run then return 'conflict' end
if revision ~= '' and (replaced or '0') ~= revision then return 'changed' end

local function put(field, value)
  if value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
end
drop_input(id, key)
if digest == '' then
  redis.call('HSET', key, F.input, input)
else
  store_input(id, key, input)
  redis.call('HDEL', key, F.input)
end
put(F.digest, digest)
put(F.mediaType, media)
put(F.query, query)
if new_key ~= '' then change_key(queue, id, state, of_key, string.match(new_key, '^%d+ ?(.*)$')) end
note_answer(key, answers, A.update .. call, 'updated')
redis.call('HINCRBY', key, F.revision, 1)
redis.call('HSET', key, F.extra, '1')
-- Those that a dead task kept until it was retried.
redis.call('UNLINK', K.steps(id))
notify(id, state)
send_notices()
if of_freed_keyed then tell_freed() end
return 'updated'
