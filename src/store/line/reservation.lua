-- Remembers the tasks that a request for work got, so that it gets the same when it is sent again: the first fence, and the ids.
--
-- A worker has two lanes in each queue, and one request underway in each: the last one of each is remembered in the queue's hash, as
-- "reservation first-fence id …".
--
-- A request over HTTP may be sent again while it is underway, and to other processes: it is remembered in a key of its own for as long as
-- the lease, as "sender first-fence id …"; the sender is "*" once others have sent it too. One that has got nothing is not remembered.
local Reservation = {}

-- The field of the queue's hash for a lane, "0" or "1"; nil for a request over HTTP.
function Reservation.lane_field(worker, lane)
  if lane == '0' then return Q.reservation .. worker end
  return lane == '1' and Q.reservation .. worker .. ' 1' or nil
end

local function http_key(call, queue, worker, reservation)
  return K.request(call, queue) .. ' ' .. worker .. ' ' .. reservation
end

local function read(key)
  return string.match(redis.call('GET', key) or '', '^(%S+) (%d+) (.*)$')
end

-- Remembers what a request over HTTP has got.
function Reservation.keep(call, queue, worker, reservation, sender, got, lease)
  redis.call('SET', http_key(call, queue, worker, reservation), sender .. ' ' .. got, 'PX', lease)
end

-- The first fence and the ids that a request over HTTP has got; nil if none are remembered.
function Reservation.recall(call, queue, worker, reservation, sender)
  local key = http_key(call, queue, worker, reservation)
  local by, first, ids = read(key)
  if by and by ~= sender and by ~= '*' then redis.call('SET', key, '* ' .. first .. ' ' .. ids, 'KEEPTTL') end
  return first, ids
end

-- The same for tasks that are handed back, which are remembered no longer; false if another sender may have got them.
function Reservation.forget(call, queue, worker, reservation, sender)
  local key = http_key(call, queue, worker, reservation)
  local by, first, ids = read(key)
  if by and by ~= sender then return false end
  redis.call('UNLINK', key)
  return first, ids
end

return Reservation
