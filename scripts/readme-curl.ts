/**
 * `npx tsx scripts/readme-curl.ts`: starts the built server as README.md says, and runs the README's curl lines on it with the real curl,
 * first on a native store and then on the embedded one.
 * `commandsIn` says how they are read.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VARIABLES } from "../src/config/variables.ts";
import { messageOf } from "../src/errors.ts";
import { eventually } from "../test/shared/eventually.ts";
import { reservePort } from "../test/shared/ports.ts";
import { ROOT } from "../test/shared/root.ts";
import { commandsIn, runCommands, type ShownCommand } from "../test/shared/shown-commands.ts";

const LIMITS = { startMs: 60_000, stopMs: 40_000 } as const;

async function runOn(store: "native" | "embedded", examples: readonly ShownCommand[]): Promise<boolean> {
  console.log(`▸ the README's curl lines on the ${store} store`);
  const folder = mkdtempSync(join(tmpdir(), "paihao-readme-"));
  const port = await reservePort();
  // Settings of this environment must not reach the server, since a reader has none.
  const unset = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, ""]));
  const env = {
    ...process.env,
    ...unset,
    LOG_LEVEL: "warn",
    STORE: store,
    PORT: String(port),
    DATA_DIR: join(folder, "data"),
  };
  const npm = spawn("npm", ["start"], { cwd: ROOT, env, detached: true, stdio: ["ignore", "inherit", "inherit"] });
  try {
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok, LIMITS.startMs);
    await runCommands(examples, { host: `127.0.0.1:${port}`, cwd: ROOT });
    console.log(`  ✔ ${examples.length} curl lines`);
    npm.kill("SIGTERM");
    const [code] = await once(npm, "exit", { signal: AbortSignal.timeout(LIMITS.stopMs) });
    if (code !== 0) throw new Error(`SIGTERM: exit code ${code}, expected 0`);
    return true;
  } catch (error) {
    console.log(`✘ ${messageOf(error)}`);
    return false;
  } finally {
    // The server has its own process group, so that nothing is left if it does not end by itself.
    if (npm.exitCode === null && npm.pid !== undefined) process.kill(-npm.pid, "SIGKILL");
    rmSync(folder, { recursive: true });
  }
}

const examples = commandsIn(readFileSync(join(ROOT, "README.md"), "utf8")).filter(({ command }) =>
  command.startsWith("curl "),
);
const native = spawnSync("sh", ["-c", "command -v redis-server || command -v valkey-server"]).status === 0;
let passed = examples.length > 0;
for (const store of native ? (["native", "embedded"] as const) : (["embedded"] as const))
  passed = (await runOn(store, examples)) && passed;
process.exitCode = passed ? 0 : 1;
