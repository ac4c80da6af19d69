/**
 * `npm test`: the checks, then the tests on a native Redis, in up to three processes at a time, without those that take minutes.
 * Needs only Node; it installs redis-server if it may, and says so if it cannot.
 *
 *   npm test                           what a change is likely to break
 *   npm run test:all                   everything, and a part of it again on the embedded store
 *   npm test -- test/config            only these files or folders, without the checks
 *   npm test -- test/engine -g lease   other arguments go to mocha
 *   npm run test:embedded              everything, on the embedded store only
 *   npm run test:cluster               what depends on the store, on a Redis Cluster of six nodes
 *
 * Whole runs show their progress and failures; the output of mocha is in .cache/tests. The last line is always
 * `N passed, N failed, N skipped`: tests of all parts, and each check that fails as one failed.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { messageOf } from "../src/errors.ts";
import { ROOT } from "../test/shared/root.ts";
import { build } from "./build.ts";
import { filesIn } from "./files.ts";
import { type Part, type PartEnd, type RunningPart, type Store, startPart } from "./test-part.ts";
import { add, NONE, type Totals, totalsLine } from "./totals.ts";

const BIN = join(ROOT, "node_modules/.bin");
const LOGS = join(ROOT, ".cache/tests");
const FLAGS = ["--all", "--embedded", "--cluster", "--checks"];
/** What depends on the store. */
const ON_A_CLUSTER = ["test/store/", "test/engine/", "test/http/", "test/workers/"];
const OF_THE_ENGINE = ["test/store/", "test/engine/"];
/**
 * Tests that show that the embedded store works like a native one. The others call the same scripts, and would take minutes
 * more.
 */
const ON_EMBEDDED = [...OF_THE_ENGINE, "test/http/contract/"];

/** Tests that take long and that few changes break, by the beginnings of their paths: `npm test` leaves them out. */
const LONG = [
  "test/chaos/batch-store",
  "test/chaos/durability",
  "test/chaos/faults",
  "test/simulation/",
  "test/cluster/",
  "test/deploy/",
  "test/examples/",
  "test/docs/",
  "test/scripts/",
  "test/cli/help",
  "test/cli/fleet",
  "test/cli/init",
  "test/cli/hostile",
  "test/cli/terminal",
  "test/cli/doctor",
  "test/cli/keys",
  "test/cli/live-store",
  "test/cli/start-time",
  "test/cli/tasks",
  "test/client/browser",
  "test/client/hostile",
  "test/client/networks",
  "test/telemetry/traces",
  "test/testing/test-server",
  "test/linear",
  "test/handler/load",
  "test/http/pages/",
  "test/http/fuzz",
  "test/http/security/unread-results",
  "test/http/security/small-chunks",
  "test/http/task/large-results",
  "test/http/routes/queues/orphans",
  "test/http/routes/groups/many",
  "test/http/gateway/circuit-breaker",
  "test/http/gateway/once",
  "test/http/live/events-many",
  "test/workers/sandbox/",
  "test/workers/processes",
  "test/workers/idle",
  "test/workers/outage",
  "test/workers/frozen-store",
  "test/workers/exclusive",
  "test/workers/large-inputs",
  "test/engine/model/",
  "test/store/servers/",
];

/** As many as two cores can run without tests timing out. */
const AT_A_TIME = 3;
/** How often a whole run reports its progress, ms. */
const SAY_MS = 15_000;

const CHECKS: readonly { name: string; command: readonly string[] /** Its figures. */; shows?: boolean }[] = [
  { name: "lint, format and floors", command: [join(BIN, "biome"), "check", "--error-on-warnings"] },
  { name: "types", command: [join(BIN, "tsc"), "--noEmit"] },
  { name: "types of the pages", command: [join(BIN, "tsc"), "--project", "src/http/pages/browser"] },
  {
    name: "no unused exports, files or dependencies",
    command: ["npm", "run", "--silent", "check:exports", "--", "--no-progress"],
  },
  { name: "Lua", command: ["npm", "run", "--silent", "check:lua"], shows: true },
  { name: "docs", command: ["npm", "run", "--silent", "check:docs"], shows: true },
  { name: "client", command: ["npm", "run", "--silent", "check:client"], shows: true },
  { name: "package", command: ["npm", "run", "--silent", "check:package"] },
];

/** The failures, repeated at the end, which may be minutes later. */
const failures: string[] = [];

/** Runs what the arguments ask for and returns the sum. */
async function main(args: readonly string[]): Promise<Totals> {
  const rest = args.filter((arg) => !FLAGS.includes(arg));
  const paths = rest.filter((arg) => existsSync(resolve(arg)));
  const options = rest.filter((arg) => !paths.includes(arg));
  const checks = paths.length === 0 ? runChecks() : NONE;
  if (args.includes("--checks")) return checks;

  const isCluster = args.includes("--cluster");
  const hasNative = !args.includes("--embedded") && findNative();
  if (isCluster && !hasNative) return { ...checks, failed: checks.failed + 1 };
  const store = isCluster ? "cluster" : hasNative ? "native" : "embedded";
  const all = testFiles(paths.length === 0 ? ["test"] : paths);
  const isQuick = paths.length === 0 && !FLAGS.some((flag) => args.includes(flag));
  const files = isCluster
    ? within(all, ON_A_CLUSTER)
    : isQuick
      ? all.filter((file) => !LONG.some((path) => file.startsWith(path)))
      : all;
  buildOnce();
  if (paths.length > 0) {
    const { ended } = startPart({ name: store, store, files }, options, undefined, say);
    return add(checks, noted(await ended));
  }
  if (isQuick) say(`${all.length - files.length} of ${all.length} files run only with npm run test:all`);
  const parts = partsOf(files, store);
  if (args.includes("--all") && store === "native")
    parts.push({ name: "embedded store", store: "embedded", files: within(files, ON_EMBEDDED) });
  return add(checks, await runAll(parts, options));
}

/** The parts that run in parallel. */
function partsOf(files: readonly string[], store: Store): Part[] {
  const engine = within(files, OF_THE_ENGINE);
  const http = within(files, ["test/http/"]);
  const others = files.filter((file) => !engine.includes(file) && !http.includes(file));
  return [
    { name: "engine and store", store, files: engine },
    { name: "http", store, files: http },
    { name: "all others", store, files: others },
  ];
}

const within = (files: readonly string[], folders: readonly string[]) =>
  files.filter((file) => folders.some((folder) => file.startsWith(folder)));

/** Runs several parts at a time, since tests mostly wait, and reports their progress. */
async function runAll(parts: readonly Part[], options: readonly string[]): Promise<Totals> {
  mkdirSync(LOGS, { recursive: true });
  const queue = parts.filter(({ files }) => files.length > 0);
  const running = new Map<Part, RunningPart>();
  const beganMs = performance.now();
  const timer = setInterval(() => {
    const each = [...running].map(([{ name }, part]) => `${name} ${part.progress().done} of ${part.progress().total}`);
    say(`${clock(performance.now() - beganMs)} ${each.join(" · ")}`);
  }, SAY_MS);
  let totals = NONE;
  const work = async () => {
    for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
      const log = join(LOGS, `${part.name.replaceAll(" ", "-")}.log`);
      const started = startPart(part, options, log, say);
      running.set(part, started);
      const end = await started.ended;
      running.delete(part);
      say(`${clock(performance.now() - beganMs)} ${part.name}, ${part.store} store: ${totalsLine(end.totals)}`);
      for (const title of end.skipped) say(`skipped: ${title}`);
      process.stdout.write(end.failures.join(""));
      totals = add(totals, noted(end));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  clearInterval(timer);
  say(`the output of mocha is in ${relative(ROOT, LOGS)}`);
  return totals;
}

function noted(end: PartEnd): Totals {
  failures.push(...end.failures);
  return end.totals;
}

/** Builds before the parts run, since several of them use the build and must not build at once. */
function buildOnce(): void {
  try {
    say(build(ROOT));
  } catch (error) {
    // The tests that need it fail with the same message.
    say(messageOf(error));
  }
}

/** Passing checks are not counted, since they are not tests; a failing one must not hide behind "0 failed". */
function runChecks(): Totals {
  let failed = 0;
  for (const { name, command, shows = false } of CHECKS) {
    const [file = "", ...args] = command;
    const run = spawnSync(file, args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    if (run.status === 0) {
      say(`${name}: ok${shows ? `, ${run.stdout.trim().replace(/^\w+: /, "")}` : ""}`);
    } else {
      process.stdout.write(`${run.stdout}${run.stderr}${run.error ?? ""}\n`);
      say(`${name}: FAILED`);
      failures.push(`✘ ${name}\n`);
      failed += 1;
    }
  }
  return { ...NONE, failed };
}

/** Whether there is a Redis for the tests, installed if need be; says what was found. */
function findNative(): boolean {
  const install = spawnSync("sh", [join(ROOT, "scripts/install-redis.sh")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (install.status === 0) return true;
  say("store: no redis-server found; tests of a native store are skipped, all others run on the embedded one");
  return false;
}

/** The test files among and below some paths, relative to the project. */
function testFiles(paths: readonly string[]): string[] {
  const files = paths.flatMap((path) => {
    const full = resolve(path);
    if (!statSync(full).isDirectory()) return [full];
    return filesIn(full)
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => join(full, file));
  });
  return [...new Set(files.map((file) => relative(ROOT, file).replaceAll("\\", "/")))];
}

/** A time as m:ss. */
function clock(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function say(line: string): void {
  process.stdout.write(`▸ ${line}\n`);
}

const totals = await main(process.argv.slice(2));
const onlyChecks = process.argv.includes("--checks");
if (!onlyChecks) {
  if (totals.passed + totals.failed === 0) say("nothing ran");
  process.stdout.write(`${failures.join("")}${totalsLine(totals)}\n`);
}
process.exitCode = totals.failed > 0 || (!onlyChecks && totals.passed === 0) ? 1 : 0;
