/**
 * `npm run check:readme`: starts the built server as README.md says, and runs the README's curl lines on it with the real curl,
 * first on a native store and then on the embedded one. The last line is `N passed, N failed, N skipped`.
 *
 *   - Each line that begins with `curl` in a block marked `sh` is run, with the lines that continue it.
 *   - Behind `# →` stands the expected status: `202`, `200 or 202`, or `404, then 200` for one that is asked again until it is 200.
 *     What stands there in backticks must be in the response.
 *   - `<id>` is the X-Request-Id of the latest response to a submission, `localhost:3000` the server.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VARIABLES } from "../src/config/config.ts";
import { messageOf } from "../src/errors.ts";
import { freePort } from "../src/store/servers/free-port.ts";
import { eventually } from "../testbed/eventually.ts";
import { ROOT } from "../testbed/root.ts";
import { add, NONE, type Totals, totalsLine } from "./totals.ts";

const LIMITS = { startMs: 60_000, doneMs: 30_000, stopMs: 40_000 } as const;

/** A curl line, and what the README says of its response. */
interface Example {
  readonly command: string;
  readonly statuses: readonly number[];
  /** The last status is to be waited for. */
  readonly waits: boolean;
  readonly contains: readonly string[];
}

function examplesOf(markdown: string): Example[] {
  const blocks = [...markdown.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) =>
    block.replaceAll(/\\\n\s*/g, ""),
  );
  return blocks.flatMap((block) =>
    [...block.matchAll(/^(curl .*?)(?:\s+# → (.*))?$/gm)].map(([, command = "", claim = ""]) => ({
      command,
      statuses: [...claim.matchAll(/\b\d{3}\b/g)].map(Number),
      waits: claim.includes(", then "),
      contains: [...claim.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text),
    })),
  );
}

/** Runs a command line; returns what it printed, the status and the X-Request-Id of the response. */
function curl(command: string, folder: string): { output: string; status: number; id: string } {
  const rc = 'silent\nshow-error\nmax-time = 60\nwrite-out = "\\n%{http_code} %header{x-request-id}"\n';
  writeFileSync(join(folder, ".curlrc"), rc);
  const env = { ...process.env, CURL_HOME: folder };
  const run = spawnSync("bash", ["-c", command], { cwd: ROOT, encoding: "utf8", env });
  const [, output = "", status, id = ""] = /^(.*)\n(\d{3}) (.*)$/s.exec(run.stdout) ?? [];
  return { output: `${output}${run.stderr}`, status: Number(status ?? 0), id };
}

/** Runs all examples in order on one server; throws at the first that does not hold. */
async function runAll(examples: readonly Example[], port: number, folder: string): Promise<void> {
  let id = "";
  for (const { command, statuses, waits, contains } of examples) {
    const line = command.replaceAll("localhost:3000", `127.0.0.1:${port}`).replaceAll("<id>", id);
    const answer = await eventually(() => {
      const { status, ...rest } = curl(line, folder);
      const wanted = waits ? statuses.slice(-1) : statuses;
      if (!wanted.includes(status)) throw new Error(`${line}\n${status}, expected ${wanted}\n${rest.output}`);
      return rest;
    }, LIMITS.doneMs);
    for (const text of contains)
      if (!answer.output.includes(text)) throw new Error(`${line}\nlacks ${text}\n${answer.output}`);
    if (/ -X POST | -X PUT | -d /.test(line)) id = answer.id;
    console.log(`  ✔ ${command}`);
  }
}

async function runOn(store: "native" | "embedded", examples: readonly Example[]): Promise<Totals> {
  console.log(`▸ the README's curl lines on the ${store} store`);
  const folder = mkdtempSync(join(tmpdir(), "paihao-readme-"));
  const port = await freePort();
  // What is set where this runs must not reach the server: a reader has set nothing.
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
    await runAll(examples, port, folder);
    npm.kill("SIGTERM");
    const [code] = await once(npm, "exit", { signal: AbortSignal.timeout(LIMITS.stopMs) });
    if (code !== 0) throw new Error(`SIGTERM: exit code ${code}, expected 0`);
    return { ...NONE, passed: examples.length + 1 };
  } catch (error) {
    console.log(`✘ ${messageOf(error)}`);
    return { ...NONE, failed: 1 };
  } finally {
    // Nothing is left of a server that does not end by itself: it has a process group of its own.
    if (npm.exitCode === null && npm.pid !== undefined) process.kill(-npm.pid, "SIGKILL");
    rmSync(folder, { recursive: true });
  }
}

const examples = examplesOf(readFileSync(join(ROOT, "README.md"), "utf8"));
const native = spawnSync("sh", ["-c", "command -v redis-server || command -v valkey-server"]).status === 0;
const first = native ? await runOn("native", examples) : { ...NONE, skipped: examples.length };
const totals = add(first, await runOn("embedded", examples));
console.log(totalsLine(totals));
process.exitCode = totals.failed === 0 && examples.length > 0 ? 0 : 1;
