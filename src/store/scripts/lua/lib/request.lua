-- What this partition gave to a request for work that may be sent again, also while it is underway and through other processes.
-- A part is decided once, and stays as it is for all who send the request, be it nothing. One who has seen that no partition gave
-- anything asks for the next generation of parts. Stored as "holder generation given first-fence id …" for as long as the lease;
-- if it is nothing, at most for as long as a copy of the request may still come. Needs clock.
local EMPTY_MS = 60000

local function part_key(queue, worker, reservation)
  return K.request(queue) .. ' ' .. worker .. ' ' .. reservation
end

-- Stores a part; facts: all but its ids.
local function keep_part(key, facts, ids, lease)
  redis.call('SET', key, facts .. ids, 'PX', ids == '' and whole(math.min(lease, EMPTY_MS)) or lease)
end

local function note_part(queue, worker, reservation, holder, generation, first, ids, lease)
  local facts = holder .. ' ' .. whole(generation) .. ' ' .. #ids .. ' ' .. whole(first) .. ' '
  keep_part(part_key(queue, worker, reservation), facts, table.concat(ids, ' '), lease)
end

-- Looks up the part.
--   holder      who asks: one of those who send the request
--   generation  that this partition is to decide; 0 for the next, where no other partition has named one yet
--   after       the last generation of which whoever asks knows that it is empty
-- Returns the generation, and where the part has been decided how many it gave, its first fence and its ids.
local function recall(queue, worker, reservation, holder, generation, after, lease)
  local key = part_key(queue, worker, reservation)
  local of, stored, given, first, ids = string.match(redis.call('GET', key) or '', '^(%S+) (%d+) (%d+) (%d+) (.*)$')
  stored = tonumber(stored or 0)
  -- What it gave is told whatever generation is asked for: nobody asks for a later one on purpose.
  local decided = of and (given ~= '0' or (generation == 0 and stored > after) or (generation > 0 and stored >= generation))
  if not decided then
    return generation > 0 and generation or math.max(stored + 1, after + 1, now)
  end
  -- Who is not alone in asking must not hand it back: another may have been told of it.
  if of ~= holder then of = '*' end
  keep_part(key, of .. ' ' .. whole(stored) .. ' ' .. given .. ' ' .. first .. ' ', ids, lease)
  return stored, tonumber(given), tonumber(first), ids
end
