-- Replaces the input of a task that has not begun; it keeps its place.
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  id
-- ARGV[2]  input
-- ARGV[3]  digest: "" when the input is stored in the hash
-- ARGV[4]  media type: "" for JSON
-- ARGV[5]  query: query parameters for the handler, "" for none
-- ARGV[6]  call: a word that only this call has
-- ARGV[7]  revision: how often it may have been replaced before, "" for any number
--
-- Returns "updated", "conflict" (a worker has or had it, or it is finished), "changed" (it is of
-- another revision) or "unknown".
local base = KEYS[1]
--#include answers

local id, input, digest, media, query = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call, revision = ARGV[6], ARGV[7]
local key = base .. 't:' .. id
local t = redis.call('HMGET', key, 's', 'f', 'V', 'v')
local state = t[1]
if not state then return 'unknown' end
if answered(t[3], 'u' .. call) then return 'updated' end
-- A fence says that a worker has had it: what it has done for the old input must not be taken for done for the new one.
if (state ~= 'w' and state ~= 'd') or t[2] then return 'conflict' end
if revision ~= '' and (t[4] or '0') ~= revision then return 'changed' end

local function put(field, value)
  if value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
end
if digest == '' then
  redis.call('HSET', key, 'i', input)
  redis.call('UNLINK', base .. 'b:' .. id)
else
  redis.call('SET', base .. 'b:' .. id, input)
  redis.call('HDEL', key, 'i')
end
put('h', digest)
put('m', media)
put('u', query)
note_answer(key, t[3], 'u' .. call, 'updated')
redis.call('HINCRBY', key, 'v', 1)
-- Those that a dead task kept until it was retried.
redis.call('UNLINK', base .. 's:' .. id)
redis.call('PUBLISH', base .. 'e:' .. id, state)
return 'updated'
