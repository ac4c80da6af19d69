import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { ROOT } from "../test/shared/root.ts";
import type { Outcome, Progress } from "./mocha-reporter.ts";
import { failureLines, NONE, type Totals } from "./totals.ts";

/** A part that takes longer reports its slowest files, ms. */
const LONG_MS = 5 * 60_000;
/** If no test ends for this long, something hangs, ms. */
const STUCK_MS = 10 * 60_000;
/** How long a process may live after its last test, ms. */
const LINGER_MS = 60_000;
const LOOK_MS = 500;
/** How many files are reported. */
const MAX_NAMED = 5;

export type Store = "native" | "embedded" | "cluster";

/** What one mocha process runs, on its own store. */
export interface Part {
  readonly name: string;
  readonly store: Store;
  /** Relative to the project. */
  readonly files: readonly string[];
}

/** How a part has ended. */
export interface PartEnd {
  readonly totals: Totals;
  /** Titles of the skipped tests. */
  readonly skipped: readonly string[];
  /** The failures, in lines for the end of the report. */
  readonly failures: readonly string[];
}

/** A running part. */
export interface RunningPart {
  readonly ended: Promise<PartEnd>;
  /** Its progress. */
  progress(): Progress;
}

/**
 * Runs a part. If its process dies before the end, that counts as one failure.
 * @param log what mocha prints goes to this file; absent: to the terminal
 * @param say gets a line that people should see
 */
export function startPart(
  part: Part,
  options: readonly string[],
  log: string | undefined,
  say: (line: string) => void,
): RunningPart {
  const folder = mkdtempSync(join(tmpdir(), "paihao-test-"));
  const [outcome, progressFile] = [join(folder, "outcome.json"), join(folder, "progress.json")];
  const progress = () => readJson<Progress>(progressFile) ?? { done: 0, total: 0, files: {} };
  const ended = run(part, options, { folder, outcome, progressFile, log, progress, say }).finally(() =>
    rmSync(folder, { recursive: true }),
  );
  return { ended, progress };
}

interface Running {
  readonly folder: string;
  readonly outcome: string;
  readonly progressFile: string;
  readonly log: string | undefined;
  progress(): Progress;
  say(line: string): void;
}

async function run({ name, store, files }: Part, options: readonly string[], at: Running): Promise<PartEnd> {
  const reporterOptions = `outcome=${at.outcome},progress=${at.progressFile}`;
  const reporter = ["--reporter", join(ROOT, "scripts/mocha-reporter.ts"), "--reporter-option", reporterOptions];
  // Mocha adds the files of its settings to those of the command line, so this part's settings name its own.
  const settings = JSON.parse(readFileSync(join(ROOT, ".mocharc.json"), "utf8"));
  const config = join(at.folder, "mocharc.json");
  writeFileSync(config, JSON.stringify({ ...settings, spec: files }));
  const to = at.log === undefined ? "inherit" : openSync(at.log, "w");
  const mocha = spawn(join(ROOT, "node_modules/.bin/mocha"), ["--config", config, ...reporter, ...options], {
    cwd: ROOT,
    stdio: ["ignore", to, to],
    env: { ...process.env, TEST_STORE: store },
  });
  const beganMs = performance.now();
  let [done, sinceMs, told, stuck] = [-1, beganMs, false, false];
  const watch = setInterval(() => {
    const nowMs = performance.now();
    const now = at.progress();
    if (now.done !== done) [done, sinceMs] = [now.done, nowMs];
    if (!told && nowMs - beganMs > LONG_MS) {
      told = true;
      at.say(`${name} has run for ${LONG_MS / 60_000} min; longest: ${longestOf(now.files)}`);
    }
    if (nowMs - sinceMs < (existsSync(at.outcome) ? LINGER_MS : STUCK_MS)) return;
    stuck = true;
    mocha.kill("SIGINT");
  }, LOOK_MS);
  const [status, signal] = (await once(mocha, "exit")) as [number | null, NodeJS.Signals | null];
  clearInterval(watch);
  if (typeof to === "number") closeSync(to);
  if (told)
    at.say(
      `${name} took ${Math.round((performance.now() - beganMs) / 1000)} s; longest: ${longestOf(at.progress().files)}`,
    );

  const end = readJson<Outcome>(at.outcome);
  const ofAll = (how: string) => `✘ ${name}: ${how}\n`;
  const hung = end
    ? `something was left open: mocha was ended ${LINGER_MS / 1000} s after the last test`
    : `no test has ended for ${STUCK_MS / 60_000} min: something hangs`;
  if (end === undefined) {
    const how = stuck ? hung : `mocha ended without a result (${signal ?? `exit code ${status}`})`;
    return { totals: { ...NONE, failed: 1 }, skipped: [], failures: [ofAll(how)] };
  }
  const failures = end.failed.map((failure) => failureLines(name, failure));
  if (end.totals.failed > 0 || status === 0) return { ...end, failures };
  // E.g. an error after the last test, or a connection left open: mocha reports it only by its exit code.
  return {
    ...end,
    totals: { ...end.totals, failed: 1 },
    failures: [ofAll(stuck ? hung : `mocha ended with exit code ${status}`)],
  };
}

/** The files that took longest, with their seconds. */
function longestOf(files: Progress["files"]): string {
  return Object.entries(files)
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_NAMED)
    .map(([file, ms]) => `${relative(ROOT, file)} ${Math.round(ms / 1000)} s`)
    .join(", ");
}

function readJson<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // The file is being written.
    return undefined;
  }
}
