-- luacheck, for the library in src/store: `npm run check:lua`
std = "lua51"
max_line_length = 145
-- What Redis gives, the tables in the head of the library (src/store/library/assemble.ts), and its modules.
read_globals = {
  "redis", "cjson", "struct",
  "Layout", "K", "P", "F", "Q", "G", "S", "N", "A", "R", "C", "OPTIONS", "register",
  "Number", "Call", "Run", "Input", "Result", "Answers", "Past", "Notices",
  "Rate", "Forecast", "Service", "Warmup", "Snapshot", "Keyed", "Fair", "Line",
  "Due", "Follow", "Group", "Settle", "Lease", "Completion", "Reservation",
  "Breaker", "Filter", "Allowed", "Inspection", "Grace", "Setback", "Submission",
}
