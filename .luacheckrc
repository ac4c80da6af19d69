-- luacheck, for the library in src/store: `npm run check`
std = "lua51"
max_line_length = 145
-- What Redis gives, and the tables in the head of the library (src/store/library/assemble.ts); check:lua adds those of the files.
read_globals = {
  "redis", "cjson", "struct",
  "Layout", "K", "P", "D", "F", "T", "Q", "G", "S", "N", "A", "R", "C", "OPTIONS", "register", "register_hot",
}
