/**
 * `npm test`: the checks, then every test on a native Redis, and those that show what a store does on the embedded one
 * as well, in up to three processes at a time. Needs nothing but Node; it installs redis-server where it may and says so where it cannot.
 *
 *   npm test                           everything
 *   npm test -- test/config            only these files or folders, without the checks
 *   npm test -- test/engine -g lease   what is no path goes to mocha
 *   npm run test:embedded              everything, on the embedded store only
 *   npm run test:cluster               what depends on the store, on a Redis Cluster of six nodes
 *
 * The last line is always `N passed, N failed, N skipped`: tests of all runs, and each check that fails as one failed.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  createReadStream,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { messageOf } from "../src/errors.ts";
import { ROOT } from "../testbed/root.ts";
import { build } from "./build.ts";
import { filesIn } from "./files.ts";
import { add, type Failure, failureLines, NONE, type Totals, totalsLine } from "./totals.ts";

const BIN = join(ROOT, "node_modules/.bin");
/** What depends on the store; the tests of test/chaos need a server of their own. */
const ON_A_CLUSTER = ["test/store/", "test/engine/", "test/http/", "test/workers/"];
const OF_THE_ENGINE = ["test/store/", "test/engine/"];
/** What shows that the embedded store does as well as a native one. The rest calls the same scripts, and would take minutes more. */
const ON_EMBEDDED = [...OF_THE_ENGINE, "test/http/contract/"];

/** As many as two cores can do without tests that wait too long for their turn. */
const AT_A_TIME = 3;

/** Something that the tests left open keeps mocha from ending: better a failure than a CI job that hangs. */
const LONGEST_RUN_MS = 16 * 60_000;

const CHECKS: readonly { name: string; command: readonly string[] /** Its figures. */; shows?: boolean }[] = [
  { name: "lint, format and floors", command: [join(BIN, "biome"), "check", "--error-on-warnings"] },
  { name: "types", command: [join(BIN, "tsc"), "--noEmit"] },
  { name: "types of the pages", command: [join(BIN, "tsc"), "--project", "tsconfig.pages.json"] },
  { name: "no unused exports, files or dependencies", command: [join(BIN, "knip"), "--no-progress"] },
  { name: "Lua", command: ["npm", "run", "--silent", "check:lua"], shows: true },
  { name: "client", command: ["npm", "run", "--silent", "check:client"], shows: true },
  { name: "package", command: ["npm", "run", "--silent", "check:package"] },
];

type Store = "native" | "embedded" | "cluster";

/** What one process of mocha runs, on a store of its own. */
interface Run {
  readonly store: Store;
  readonly files: readonly string[];
}

/** What failed, said once more at the end: between here and there may be the minutes of another run. */
const failures: string[] = [];

/** Runs what the arguments ask for and returns the sum. */
async function main(args: readonly string[]): Promise<Totals> {
  const rest = args.filter((arg) => !["--embedded", "--cluster", "--checks"].includes(arg));
  const paths = rest.filter((arg) => existsSync(resolve(arg)));
  const options = rest.filter((arg) => !paths.includes(arg));
  const checks = paths.length === 0 ? runChecks() : NONE;
  if (args.includes("--checks")) return checks;

  const files = testFiles(paths.length === 0 ? ["test"] : paths);
  const ofStore = within(files, ON_A_CLUSTER);
  if (args.includes("--cluster")) {
    if (!findNative()) return { ...checks, failed: checks.failed + 1 };
    return add(checks, await runAll([{ store: "cluster", files: ofStore }], options));
  }
  const store = !args.includes("--embedded") && findNative() ? "native" : "embedded";
  const ofEngine = within(files, OF_THE_ENGINE);
  if (ofEngine.length < files.length) buildOnce();
  const runs: Run[] = [
    { store, files: ofEngine },
    { store, files: ofStore.filter((file) => !ofEngine.includes(file)) },
    { store, files: files.filter((file) => !ofStore.includes(file)) },
  ];
  if (store === "native") runs.push({ store: "embedded", files: within(files, ON_EMBEDDED) });
  return add(checks, await runAll(runs, options));
}

const within = (files: readonly string[], folders: readonly string[]) =>
  files.filter((file) => folders.some((folder) => file.startsWith(folder)));

/** Runs some at a time, since much of a test is waiting; shows them one after the other. */
async function runAll(runs: readonly Run[], options: readonly string[]): Promise<Totals> {
  const ended: Promise<Totals>[] = [];
  for (const run of runs.filter(({ files }) => files.length > 0)) {
    const [before, shownAfter] = [ended.at(-AT_A_TIME), ended.at(-1)];
    ended.push(Promise.resolve(before).then(() => runMocha(run, options, shownAfter)));
  }
  return (await Promise.all(ended)).reduce(add, NONE);
}

/** Before the runs, of which several start the built command: they must not build at once. */
function buildOnce(): void {
  try {
    say(build(ROOT));
  } catch (error) {
    // The tests that need it fail with the same message.
    say(messageOf(error));
  }
}

/** Passing checks are no tests and not counted; a failing one must not hide behind "0 failed". */
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
  say("store: no redis-server here, the tests on a native store are left out; everything runs on the embedded one");
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

/**
 * One run of mocha on one kind of store; a run that dies before its end counts as one failure.
 * @param after its output is held back until that has ended; without it, it is shown as it comes
 */
async function runMocha({ store, files }: Run, options: readonly string[], after?: Promise<unknown>): Promise<Totals> {
  const title = `tests on the ${store} store: ${files.length} files`;
  if (after === undefined) say(title);
  const folder = mkdtempSync(join(tmpdir(), "paihao-test-"));
  try {
    const outcome = join(folder, "outcome.json");
    const reporter = ["--reporter", join(ROOT, "scripts/mocha-reporter.ts"), "--reporter-option", `outcome=${outcome}`];
    // Mocha adds the files of its settings to those of the command line, so this run's settings name its own.
    const settings = JSON.parse(readFileSync(join(ROOT, ".mocharc.json"), "utf8"));
    const config = join(folder, "mocharc.json");
    writeFileSync(config, JSON.stringify({ ...settings, spec: files }));
    const log = join(folder, "log");
    const to = after !== undefined ? openSync(log, "w") : "inherit";
    const run = spawn(join(BIN, "mocha"), ["--config", config, ...reporter, ...options], {
      cwd: ROOT,
      stdio: ["ignore", to, to],
      env: { ...process.env, TEST_STORE: store },
    });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      run.kill("SIGINT");
    }, LONGEST_RUN_MS);
    const [status, signal] = (await once(run, "exit")) as [number | null, NodeJS.Signals | null];
    clearTimeout(timer);
    if (typeof to === "number") {
      closeSync(to);
      await after;
      say(title);
      for await (const part of createReadStream(log)) process.stdout.write(part);
    }
    const asWhole = (how: string) => failures.push(`✘ ${store}: ${how}\n`);
    const tooLong = `mocha was ended after ${LONGEST_RUN_MS / 60_000} min: the tests are too slow, or left something open`;
    if (!existsSync(outcome)) {
      asWhole(late ? tooLong : `mocha ended without a result (${signal ?? `exit code ${status}`})`);
      return { ...NONE, failed: 1 };
    }
    const { totals, failed }: { totals: Totals; failed: Failure[] } = JSON.parse(readFileSync(outcome, "utf8"));
    failures.push(...failed.map((failure) => failureLines(store, failure)));
    if (totals.failed > 0 || status === 0) return totals;
    // E.g. an error after the last test, or a connection left open: mocha counts it nowhere but in its exit code.
    asWhole(late ? tooLong : `mocha ended with exit code ${status}`);
    return { ...totals, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true });
  }
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
