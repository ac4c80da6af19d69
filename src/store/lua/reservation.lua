-- What a request for work was given, so that it is given the same when it is sent again.
--
-- A worker has two lanes in each queue, and in each of them one request underway: the last one of each is remembered in the queue's hash.
--
-- A request that may be sent again while it is underway and through other processes is remembered by itself, in each partition: what
-- a partition gave is its part. A part is decided once, and stays as it is for all who send the request, be it nothing. One who has seen
-- that no partition gave anything asks for the next generation of parts. Stored as "holder generation given first-fence id …" for as
-- long as the lease; if it is nothing, at most for as long as a copy of the request may still come.
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
--   holder      who asks: one of those who send the request
--   generation  that this partition is to decide; 0 for the next, where no other partition has named one yet
--   after       the last generation of which whoever asks knows that it is empty
-- Returns the generation, and where the part has been decided how many it gave, its first fence and its ids.
function Reservation.recall_part(call, queue, worker, reservation, holder, generation, after, lease)
  local key = part_key(call, queue, worker, reservation)
  local of, stored, given, first, ids = read_part(key)
  stored = tonumber(stored or 0)
  -- What it gave is told whatever generation is asked for: nobody asks for a later one on purpose.
  local decided = of and (given ~= '0' or (generation == 0 and stored > after) or (generation > 0 and stored >= generation))
  if not decided then
    return generation > 0 and generation or math.max(stored + 1, after + 1, call.now)
  end
  -- Who is not alone in asking must not hand it back: another may have been told of it.
  if of ~= holder then of = '*' end
  write_part(key, of .. ' ' .. whole(stored) .. ' ' .. given .. ' ' .. first .. ' ', ids, lease)
  return stored, tonumber(given), tonumber(first), ids
end

return Reservation
