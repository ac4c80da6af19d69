-- Hands back what a request for work took that is remembered by itself, where nobody has been told of it. If it is sent again it is
-- given nothing here, but for a later generation (see reservation.lua).
--
-- args[1]  queue
-- args[2]  worker
-- args[3]  reservation
-- args[4]  holder: who took it
-- args[5]  generation: the latest of which the holder knows
-- args[6]  lease: ms
-- args[7]  keep (ms, of a canceled result)
-- args[8]  tombstone (ms)
--
-- Returns "handed-back", also where there was nothing, or "shared" when another sender of the request may have been told of it.

local whole = Number.whole

register('unreserve', { 'allow-oom' }, function(keys, args)
  local call = Call.new(keys)
  local queue, worker, reservation, holder = args[1], args[2], args[3], args[4]
  local generation, lease, stay = tonumber(args[5]), tonumber(args[6]), Result.stay(call, args[7], args[8])
  local of, stored, _, nth, ids = Reservation.part(call, queue, worker, reservation)
  if of and of ~= holder then return 'shared' end
  nth = tonumber(nth or 0)
  for id in string.gmatch(ids or '', '%S+') do
    local state, run = unpack(redis.call('HMGET', K.task(call, id), F.state, F.run))
    local fence = Run.parts(run)
    if state == S.running and fence == whole(nth) then Lease.release(call, queue, id, stay) end
    nth = nth + 1
  end
  local latest = math.max(generation, tonumber(stored or 0))
  Reservation.keep_part(call, queue, worker, reservation, holder, latest, 0, {}, lease)
  Notices.send(call)
  Keyed.tell_freed(call)
  return 'handed-back'
end)
