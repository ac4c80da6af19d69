/**
 * `npm run check:readme` (`-- FILE` for another than README.md): starts the built server as the README says and runs the README's own curl lines against
 * it, with the real curl; once on each store that this machine has. What the README promises, and how it says so:
 *
 *   - In a block marked `sh`, each line that begins with `curl` is run; one that ends in `\` goes on in the next.
 *   - Behind `# →`, on that line or on comment lines right below, stands the status, and then whatever a reader likes:
 *       # → 202 Accepted
 *       # → 404 with the index while it waits, then 200      asked again until the last one comes
 *       # → 200 or 201                                       either
 *       # → 200, `"language":"en"`                           and this in the headers or the body, letter by letter
 *     Without `# →`, any status below 400 will do.
 *   - `<id>` is the X-Request-Id that the latest submission (POST or PUT) answered with.
 *   - `localhost:3000` is the server. A curl to anywhere else, or with another `<placeholder>`, is skipped and counted so.
 *   - Commands run in the project's folder: `--data-binary @examples/…` works.
 *
 * The last line is `N passed, N failed, N skipped`.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { VARIABLES } from "../src/config/config.ts";
import { messageOf } from "../src/errors.ts";
import { freePort } from "../src/store/servers/free-port.ts";
import { ROOT } from "../testbed/root.ts";
import { type ReadmeCommand, readmeCommands } from "./readme.ts";
import { add, NONE, type Totals, totalsLine } from "./totals.ts";

const HERE = /\b(?:localhost|127\.0\.0\.1):3000\b/g;
const READY_WITHIN_MS = 60_000;
const DONE_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 40_000;

/** One answer of curl. */
interface Answer {
  readonly status: number;
  readonly headers: string;
  /** What curl printed: with -i the headers too. */
  readonly body: string;
  /** Headers, body and what curl itself complained about. */
  readonly all: string;
}

/** A server under test: its npm process, its port and where its output goes. */
interface Server {
  readonly npm: ChildProcess;
  readonly port: number;
  readonly log: string;
}

const PASSED: Totals = { ...NONE, passed: 1 };
const FAILED: Totals = { ...NONE, failed: 1 };
const SKIPPED: Totals = { ...NONE, skipped: 1 };

/** Starts the server on one kind of store, runs all commands in order, and ends it. */
async function runOn(
  store: "native" | "embedded",
  commands: readonly ReadmeCommand[],
  folder: string,
): Promise<Totals> {
  console.log(`▸ the README's curl lines on the ${store} store`);
  const server = await start(store, folder);
  try {
    await ready(server);
    let totals = NONE;
    let id: string | undefined;
    for (const command of commands) {
      const { outcome, submitted } = await check(command, server.port, id, folder);
      totals = add(totals, outcome);
      id = submitted ?? id;
    }
    totals = add(totals, await end(server));
    if (totals.failed > 0) console.log(endOf(server.log));
    return totals;
  } catch (error) {
    console.log(`  ✘ ${messageOf(error)}\n${endOf(server.log)}`);
    return FAILED;
  } finally {
    killGroup(server.npm);
  }
}

/** The last lines of the server's output, after what it said at its start. */
function endOf(log: string): string {
  const lines = readFileSync(log, "utf8").trim().split("\n");
  return lines.length <= 60 ? lines.join("\n") : [...lines.slice(0, 20), "…", ...lines.slice(-40)].join("\n");
}

async function start(store: string, folder: string): Promise<Server> {
  const port = await freePort();
  // What is set where this runs must not reach the server, only what the README's reader has: nothing.
  const env = { ...process.env, ...Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, ""])) };
  const log = join(folder, `${store}.log`);
  const output = openSync(log, "w");
  const npm = spawn("npm", ["start"], {
    cwd: ROOT,
    stdio: ["ignore", output, output],
    // A process group of its own, so that nothing is left of a server that does not end by itself.
    detached: true,
    env: { ...env, STORE: store, PORT: String(port), DATA_DIR: join(folder, "data") },
  });
  closeSync(output);
  return { npm, port, log };
}

async function ready({ npm, port }: Server): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    if (npm.exitCode !== null) throw new Error(`npm start ended with exit code ${npm.exitCode}`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(100);
  }
  throw new Error(`npm start is not ready after ${READY_WITHIN_MS / 1000} s`);
}

/** SIGTERM ends the server with exit code 0, and with it npm. */
async function end({ npm, port }: Server): Promise<Totals> {
  const ended = once(npm, "exit");
  npm.kill("SIGTERM");
  const inTime = await Promise.race([ended, sleep(ENDS_WITHIN_MS, undefined, { ref: false })]);
  const said = inTime ? `exit code ${npm.exitCode ?? npm.signalCode}` : `still there after ${ENDS_WITHIN_MS / 1000} s`;
  const answers = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
  const passed = npm.exitCode === 0 && answers === undefined;
  console.log(`  ${passed ? "✔" : "✘"} SIGTERM → ${said}${answers ? ", but the server still answers" : ""}`);
  return passed ? PASSED : FAILED;
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing is left of it, as it should be.
  }
}

/** Runs one command until it answers as claimed; prints how it went. */
async function check(
  { line, command, expected }: ReadmeCommand,
  port: number,
  id: string | undefined,
  folder: string,
): Promise<{ outcome: Totals; submitted: string | undefined }> {
  const filled = command.replaceAll(HERE, `127.0.0.1:${port}`).replaceAll("<id>", id ?? "<id>");
  const verdict = (sign: string, text: string) => console.log(`  ${sign} line ${line}: ${command}\n      ${text}`);
  const reason = whySkipped(filled, port);
  if (reason !== undefined) {
    verdict("-", reason);
    return { outcome: SKIPPED, submitted: undefined };
  }
  const deadline = Date.now() + DONE_WITHIN_MS;
  const before = expected.statuses.slice(0, -1).flat();
  for (;;) {
    const answer = curl(filled, folder);
    const last = expected.statuses.at(-1);
    const right = last ? last.includes(answer.status) : answer.status >= 200 && answer.status < 400;
    const lacking = expected.contains.filter((part) => !answer.all.includes(part));
    if (right && lacking.length === 0) {
      verdict("✔", `${answer.status}`);
      return { outcome: PASSED, submitted: submittedId(filled, answer) };
    }
    if (right || !before.includes(answer.status) || Date.now() > deadline) {
      const wanted = last ? last.join(" or ") : "a status below 400";
      verdict("✘", right ? `lacks ${lacking.join(" and ")}` : `${answer.status || "no answer"}, expected ${wanted}`);
      console.log((answer.body.startsWith("HTTP/") ? answer.body : answer.all).slice(0, 2000));
      return { outcome: FAILED, submitted: submittedId(filled, answer) };
    }
    await sleep(200);
  }
}

function whySkipped(command: string, port: number): string | undefined {
  // Within quotes `<title>` is data; bare it would be a redirection, so it can only be a placeholder.
  const bare = command.replaceAll(/'[^']*'|"(?:\\.|[^"\\])*"/g, "''");
  const placeholder = /<[\w-]+>/.exec(bare) ?? /\/<[\w-]+>/.exec(command);
  if (placeholder) return `skipped: nothing to put in place of ${placeholder[0]}`;
  return command.includes(`127.0.0.1:${port}`) ? undefined : "skipped: not to this server";
}

/** Runs a command line as it is; what curl is told beside it stands in a settings file. */
function curl(command: string, folder: string): Answer {
  const headersFile = join(folder, "headers");
  writeFileSync(headersFile, "");
  writeFileSync(join(folder, ".curlrc"), `silent\nshow-error\nmax-time = 60\ndump-header = "${headersFile}"\n`);
  const run = spawnSync("bash", ["-o", "pipefail", "-c", command], {
    cwd: ROOT,
    encoding: "latin1",
    timeout: 90_000,
    env: { ...process.env, CURL_HOME: folder },
  });
  const headers = readFileSync(headersFile, "latin1");
  const status = Number([...headers.matchAll(/^HTTP\/\S+ (\d{3})/gm)].at(-1)?.[1] ?? 0);
  const body = Buffer.from(`${run.stdout}${run.stderr}`, "latin1").toString("utf8");
  return { status: run.status === 0 ? status : 0, headers, body, all: `${headers}${body}` };
}

/** The task's id, where the command submitted one. */
function submittedId(command: string, answer: Answer): string | undefined {
  const submits = /\s(?:-X\s*|--request[ =])["']?(?:POST|PUT)\b|\s(?:-d|--data|--json|-T|-F)/.test(command);
  return submits && answer.status < 400 ? /^x-request-id:\s*(\S+)/im.exec(answer.headers)?.[1] : undefined;
}

async function main(file: string): Promise<Totals> {
  const commands = readmeCommands(readFileSync(file, "utf8"));
  if (commands.length === 0) {
    console.log(`${file} holds no curl line in a block marked sh`);
    return FAILED;
  }
  const folder = mkdtempSync(join(tmpdir(), "paihao-readme-"));
  try {
    const native = spawnSync("sh", ["-c", "command -v redis-server || command -v valkey-server"]).status === 0;
    if (!native) console.log("▸ no redis-server here: the README's curl lines run on the embedded store only");
    const totals = native ? await runOn("native", commands, folder) : { ...NONE, skipped: commands.length };
    return add(totals, await runOn("embedded", commands, folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const totals = await main(process.argv[2] ?? join(ROOT, "README.md"));
  console.log(totalsLine(totals));
  process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1;
}
