/** `npm run check:lua`: luacheck on the Lua files of src/store, where it is installed (Debian: lua-check). */
import { spawnSync } from "node:child_process";
import { ROOT } from "../testbed/root.ts";

const run = spawnSync("luacheck", ["--quiet", "--no-color", "src/store"], { cwd: ROOT, encoding: "utf8" });
if (run.error) {
  console.log("Lua: left out, there is no luacheck here (Debian: apt install lua-check)");
} else {
  console.log(`Lua: ${run.stdout.trim()}`);
  process.exitCode = run.status ?? 1;
}
