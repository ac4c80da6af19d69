-- A value as it travels in an answer: of one that is longer than `most` only its length, as a number. Copied into an answer, large
-- values would hold up all others; they are fetched one by one, outside of scripts. A value that is not there has length 0.
local function value_or_length(key, most)
  local value = redis.call('GETRANGE', key, 0, most)
  if #value > 0 and #value <= most then return value end
  return redis.call('STRLEN', key)
end
