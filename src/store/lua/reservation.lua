-- Remembers the tasks that a request for work got, so that it gets the same when it is sent again.
--
-- A worker has two lanes in each queue, and one request underway in each: the last one of each is remembered in the queue's hash.
--
-- A request that may be sent again while it is underway, and through other processes, is remembered separately in each partition: the tasks
-- that a partition gave are its part. A part is decided once, and is the same for all senders of the request, even if it is empty. A sender
-- that has got nothing from any partition asks for the next generation of parts. Stored as "holder generation given first-fence id …" for
-- as long as the lease; an empty part at most for as long as a copy of the request may still come.
local Reservation = {}

local whole = Number.whole
local EMPTY_MS = 60000

-- The field of the queue's hash for a lane, "0" or "1"; nil of anything else.
function Reservation.lane_field(worker, lane)
  if lane == '0' then return Q.reservation .. worker end
  return lane == '1' and Q.reservation .. worker .. ' 1' or nil
end

local function part_key(call, queue, worker, reservation)
  return K.request(call, queue) .. ' ' .. worker .. ' ' .. reservation
end

-- Returns holder, generation, given, first fence and ids; nothing if no part is stored.
local function read_part(key)
  return string.match(redis.call('GET', key) or '', '^(%S+) (%d+) (%d+) (%d+) (.*)$')
end

-- Stores a part; facts: all but its ids.
local function write_part(key, facts, ids, lease)
  redis.call('SET', key, facts .. ids, 'PX', ids == '' and whole(math.min(lease, EMPTY_MS)) or lease)
end

-- The part of a request, as read_part returns it.
function Reservation.part(call, queue, worker, reservation)
  return read_part(part_key(call, queue, worker, reservation))
end

function Reservation.keep_part(call, queue, worker, reservation, holder, generation, first, ids, lease)
  local facts = holder .. ' ' .. whole(generation) .. ' ' .. #ids .. ' ' .. whole(first) .. ' '
  write_part(part_key(call, queue, worker, reservation), facts, table.concat(ids, ' '), lease)
end

-- Looks up the part.
--   holder      who asks: one of the senders of the request
--   generation  that this partition must decide; 0 for the next one, if no other partition has named one yet
--   after       the last generation that the sender knows to be empty
-- Returns the generation, and where the part has been decided how many it gave, its first fence and its ids.
function Reservation.recall_part(call, queue, worker, reservation, holder, generation, after, lease)
  local key = part_key(call, queue, worker, reservation)
  local of, stored, given, first, ids = read_part(key)
  stored = tonumber(stored or 0)
  -- A part with tasks is returned for any requested generation: nobody asks for a later one on purpose.
  local decided = of and (given ~= '0' or (generation == 0 and stored > after) or (generation > 0 and stored >= generation))
  if not decided then
    return generation > 0 and generation or math.max(stored + 1, after + 1, call.now)
  end
  -- If several senders ask, none of them may hand the tasks back, since another may have got them.
  if of ~= holder then of = '*' end
  write_part(key, of .. ' ' .. whole(stored) .. ' ' .. given .. ' ' .. first .. ' ', ids, lease)
  return stored, tonumber(given), tonumber(first), ids
end

return Reservation
