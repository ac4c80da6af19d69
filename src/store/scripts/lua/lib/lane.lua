-- Where the last reservation of a worker in a lane, "0" or "1", is remembered in the queue's hash; nil of anything else.
local function lane_field(worker, lane)
  if lane == '0' then return Q.reservation .. worker end
  return lane == '1' and Q.reservation .. worker .. ' 1' or nil
end
