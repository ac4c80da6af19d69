-- Where the last reservation of a worker in a lane, "0" or "1", is remembered.
local function lane_of(worker, lane)
  return lane == '0' and worker or worker .. ' ' .. lane
end
