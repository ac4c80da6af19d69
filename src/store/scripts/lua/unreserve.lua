-- Hands back what a request for work took that is remembered by itself, where nobody has been told of it. If it is sent again it is
-- given nothing here, but for a later generation (see lib/request.lua).
--
-- KEYS[1]  base: the partition's tag
-- ARGV[1]  queue
-- ARGV[2]  worker
-- ARGV[3]  reservation
-- ARGV[4]  holder: who took it
-- ARGV[5]  generation: the latest of which the holder knows
-- ARGV[6]  lease: ms
-- ARGV[7]  keep (ms, of a canceled result)
-- ARGV[8]  tombstone (ms)
--
-- Returns "handed-back", also where there was nothing, or "shared" when another sender of the request may have been told of it.
-- flags: allow-oom
local base = KEYS[1]
--#include clock
--#include run
--#include past
--#include freed
--#include keyed
--#include rate
--#include input
--#include follow
--#include large
--#include result
--#include notify
--#include finished
--#include settle
--#include release
--#include request

local queue, worker, reservation, holder = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local generation, lease, keep, tombstone = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local part = redis.call('GET', part_key(queue, worker, reservation)) or ''
local of, stored, _, nth, ids = string.match(part, '^(%S+) (%d+) (%d+) (%d+) (.*)$')
if of and of ~= holder then return 'shared' end
nth = tonumber(nth or 0)
for id in string.gmatch(ids or '', '%S+') do
  local state, run = unpack(redis.call('HMGET', K.task(id), F.state, F.run))
  local fence = run_of(run)
  if state == S.running and fence == whole(nth) then release(queue, id, keep, tombstone) end
  nth = nth + 1
end
note_part(queue, worker, reservation, holder, math.max(generation, tonumber(stored or 0)), 0, {}, lease)
send_notices()
tell_freed()
return 'handed-back'
