/**
 * `npx tsx scripts/mcp-conformance.ts`, under Node 22 or later: starts a server whose queues are the tools that the protocol's own
 * conformance tests call, runs all their scenarios for servers and the reference clients, which are installed for that, and tells which
 * checks do not apply.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../test/shared/eventually.ts";
import { reservePort } from "../test/shared/ports.ts";
import { ROOT } from "../test/shared/root.ts";

const PACKAGES = {
  "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
  "@modelcontextprotocol/sdk": "1.32.2",
  "@modelcontextprotocol/client": "2.4.0",
  "@modelcontextprotocol/ext-tasks": "0.2.2",
};

/** The checks that do not apply, by the beginnings of their scenarios and, behind a space, of their names; and why. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  "there are no prompts, resources, completions or logs": [
    ...["prompts-", "resources-", "completion-complete", "logging-set-level", "tools-call-with-logging"],
    ...["sep-2164-resource-not-found sep-2164-", "caching sep-2549-prompts-list", "caching sep-2549-resources-"],
  ],
  "no tool asks its user, or needs a capability of the client": [
    ...["elicitation-", "tools-call-sampling", "tools-call-elicitation", "input-required-result-", "tasks-mrtr-"],
    ...["server-stateless sep-2575-server-rejects-undeclared", "server-stateless sep-2575-missing-capability"],
    "tasks-required-task-error",
  ],
  "a result is one content": ["tools-call-mixed-content"],
  "a task that fails is a result, never an error of the protocol": ["tasks-lifecycle sep-2663-tasks-get-status-failed"],
};

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "paihao-mcp-"));
const totals = { passed: 0, failed: 0, skipped: 0 };

function report(scenario: string, checks: readonly Check[]): void {
  for (const { id, status, errorMessage = "" } of checks) {
    if (status === "SUCCESS") totals.passed += 1;
    if (status !== "FAILURE" && status !== "WARNING") continue;
    const name = `${scenario} ${id}`;
    const [why] = Object.entries(OTHERS).find(([, begins]) => begins.some((begin) => name.startsWith(begin))) ?? [];
    totals[why === undefined ? "failed" : "skipped"] += 1;
    console.log(why === undefined ? `✘ ${name}: ${errorMessage}` : `  – ${name}: ${why}`);
  }
}

/** Runs the scenarios of a revision; without one each in the newest that has it, with those of extensions. */
async function conformance(revision: readonly string[]): Promise<void> {
  const out = join(folder, `checks${revision.join("")}`);
  mkdirSync(out);
  const command = join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  // It ends with an error where a check has failed.
  const args = [command, "server", "--url", `${url}/mcp`, "--suite", "all", "-o", out, ...revision];
  await run(process.execPath, args, { cwd: folder, maxBuffer: 64 * 1024 ** 2 }).catch(() => undefined);
  const scenarios = readdirSync(out);
  console.log(`▸ ${revision.at(-1) ?? "newest revisions, and extensions"}: ${scenarios.length} scenarios`);
  if (scenarios.length < 20) totals.failed += 1;
  for (const each of scenarios) {
    const [, scenario = each] = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(each) ?? [];
    report(scenario, JSON.parse(readFileSync(join(out, each, "checks.json"), "utf8")) as Check[]);
  }
}

async function clients(): Promise<void> {
  const file = join(folder, "mcp-clients.mjs");
  copyFileSync(join(ROOT, "scripts/mcp-clients.mjs"), file);
  const { stdout } = await run(process.execPath, [file, url]);
  console.log(`▸ reference clients\n${stdout.trim()}`);
  const [, passed = 0, failed = 1] = /(\d+) passed, (\d+) failed\s*$/.exec(stdout) ?? [];
  totals.passed += Number(passed);
  totals.failed += Number(failed);
}

const port = await reservePort();
const url = `http://127.0.0.1:${port}`;
const env = {
  PATH: process.env.PATH,
  PORT: String(port),
  LOG_LEVEL: "warn",
  HANDLERS: join(ROOT, "test/fixtures/handlers/mcp"),
  DATA_DIR: join(folder, "data"),
};
const command = ["--import", "tsx", join(ROOT, "src/cli/paihao.ts"), "start"];
const server = spawn(process.execPath, command, { cwd: ROOT, env, stdio: ["ignore", "ignore", "inherit"] });
try {
  await eventually(async () => (await fetch(`${url}/readyz`)).ok);
  const packages = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
  await run("npm", ["install", "--no-audit", "--no-fund", "--prefix", folder, ...packages]);
  await conformance(["--spec-version", "2025-11-25"]);
  await conformance([]);
  await clients();
} finally {
  server.kill("SIGTERM");
  if (server.exitCode === null) await once(server, "exit");
  rmSync(folder, { recursive: true });
}
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exitCode = totals.failed === 0 ? 0 : 1;
