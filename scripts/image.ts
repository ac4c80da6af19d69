/**
 * `npm run check:image`: does by hand what `docker build` and `docker compose up` would, where there is no Docker
 * engine. It runs the COPY and RUN lines of the Dockerfile in a temporary folder for each stage, starts Redis with the
 * arguments in compose.yaml and the image's CMD as api and as worker, waits for the image's HEALTHCHECK, runs a task, and ends
 * both with SIGTERM. It cannot check the base images, the network and the user. The last line is `N passed, N failed, N
 * skipped`.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { withDefaults } from "../test/shared/compose-defaults.ts";
import { reservePort } from "../test/shared/ports.ts";
import { ROOT } from "../test/shared/root.ts";
import { environmentOf, type Instruction, reachesBuilder, readDockerfile, type Stage } from "./dockerfile.ts";
import { add, NONE, type Totals, totalsLine } from "./totals.ts";

const WORKDIR = "/app/";
const HEALTHY_WITHIN_MS = 30_000;

/** The part of a service in compose.yaml that is needed here. */
interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Ends a check with a reason. */
class CheckFailed extends Error {}

/** Runs one stage; returns the folder that stands for its /app. */
function runStage(stage: Stage, folder: string, ignore: string): string {
  const app = join(folder, stage.name);
  mkdirSync(app);
  for (const instruction of stage.instructions) {
    if (instruction.word === "COPY") copy(instruction, app, folder, ignore);
    if (instruction.word !== "RUN") continue;
    console.log(`  ${stage.name}: ${instruction.rest}`);
    // The developer's npm cache is not part of the image.
    const command = instruction.rest.replace(/\s*&&\s*npm cache clean --force/, "");
    const run = spawnSync("sh", ["-c", command], { cwd: app, encoding: "utf8" });
    if (run.status !== 0) throw new CheckFailed(`RUN ${command}\n${run.stdout}${run.stderr}`);
  }
  return app;
}

function copy({ args, flags }: Instruction, app: string, folder: string, ignore: string): void {
  const sources = args.slice(0, -1);
  const target = args.at(-1) ?? "";
  for (const source of sources) {
    if (flags.from === undefined && !reachesBuilder(ignore, source)) {
      throw new CheckFailed(`COPY ${source}: .dockerignore excludes it`);
    }
    const from = flags.from === undefined ? join(ROOT, source) : join(folder, flags.from, source.slice(WORKDIR.length));
    cpSync(from, join(app, target, target.endsWith("/") ? basename(source) : ""), { recursive: true });
  }
}

/** A process of the deployment; its output is kept in case it fails. */
class Running {
  readonly #log: string;
  readonly #child: ChildProcess;

  constructor(name: string, command: readonly string[], cwd: string, env: NodeJS.ProcessEnv, folder: string) {
    this.#log = join(folder, `${name}.log`);
    const output = openSync(this.#log, "w");
    const [file = "", ...args] = command;
    this.#child = spawn(file, args, { cwd, env, stdio: ["ignore", output, output] });
    closeSync(output);
  }

  /** Waits until `probe` returns true. */
  async until(what: string, probe: () => Promise<boolean> | boolean): Promise<void> {
    const deadline = Date.now() + HEALTHY_WITHIN_MS;
    while (!(await probe())) {
      if (this.#child.exitCode !== null) throw new CheckFailed(`${what}: ended early\n${this.output()}`);
      if (Date.now() > deadline) throw new CheckFailed(`${what}: timed out\n${this.output()}`);
      await sleep(200);
    }
  }

  output(): string {
    return readFileSync(this.#log, "utf8");
  }

  /** Returns the exit code. */
  async stop(signal: NodeJS.Signals): Promise<number | null> {
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, "exit");
      this.#child.kill(signal);
      await ended;
    }
    return this.#child.exitCode;
  }
}

/** Runs api and worker of compose.yaml from the image's folder, on a Redis started as compose.yaml starts it. */
async function deploy(app: string, image: Stage, folder: string): Promise<void> {
  const compose = parse(withDefaults(readFileSync(join(ROOT, "compose.yaml"), "utf8")), { merge: true });
  const services: Readonly<Record<string, Service>> = compose.services;
  const instruction = (word: string) => image.instructions.findLast((each) => each.word === word)?.args ?? [];
  const port = { redis: await reservePort(), api: await reservePort(), worker: await reservePort() };
  const data = join(folder, "redis-data");
  mkdirSync(data);
  const onPort = [...(services.redis?.command ?? []), "--port", String(port.redis), "--bind", "127.0.0.1"];
  const redis = new Running("redis", [...onPort, "--dir", data], folder, process.env, folder);
  const running = [redis];
  try {
    await redis.until("redis", () => /Ready to accept connections/.test(redis.output()));
    for (const role of ["api", "worker"] as const) {
      const env = {
        PATH: process.env.PATH,
        ...environmentOf(image),
        ...services[role]?.environment,
        HOST: "127.0.0.1",
        PORT: String(port[role]),
        REDIS_URL: `redis://127.0.0.1:${port.redis}`,
      };
      const server = new Running(role, instruction("CMD"), app, env, folder);
      running.push(server);
      const [file = "", ...args] = instruction("HEALTHCHECK");
      await server.until(`HEALTHCHECK of ${role}`, () => spawnSync(file, args, { cwd: app, env }).status === 0);
      console.log(`  ${role}: healthy`);
    }
    const answer = await fetch(`http://127.0.0.1:${port.api}/v1/requests`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ seconds: 0 }),
    });
    const body = await answer.text();
    if (answer.status !== 200 || !body.includes('"seconds":0'))
      throw new CheckFailed(`a task: ${answer.status} ${body}`);
    console.log("  a task, submitted to the api and run by the worker: 200");
    for (const server of running.slice(1)) {
      const code = await server.stop("SIGTERM");
      if (code !== 0) throw new CheckFailed(`SIGTERM: exit code ${code}, expected 0\n${server.output()}`);
    }
    console.log("  SIGTERM: both ended with exit code 0");
  } finally {
    for (const server of running) await server.stop("SIGKILL");
  }
}

/** Runs one check; returns whether it passed as totals. */
async function counted(name: string, check: () => Promise<void> | void): Promise<Totals> {
  console.log(`▸ ${name}`);
  try {
    await check();
    return { ...NONE, passed: 1 };
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error;
    console.log(`✘ ${error.message}`);
    return { ...NONE, failed: 1 };
  }
}

const folder = mkdtempSync(join(tmpdir(), "paihao-image-"));
try {
  const ignore = readFileSync(join(ROOT, ".dockerignore"), "utf8");
  const stages = readDockerfile(readFileSync(join(ROOT, "Dockerfile"), "utf8"));
  let app = "";
  let totals = await counted("the Dockerfile's COPY and RUN lines, by hand", () => {
    for (const stage of stages) app = runStage(stage, folder, ignore);
  });
  const image = stages.at(-1);
  if (totals.failed > 0 || image === undefined || spawnSync("redis-server", ["--version"]).status !== 0) {
    console.log("▸ api and worker: skipped, they need the image's files and a redis-server");
    totals = add(totals, { ...NONE, skipped: 1 });
  } else {
    totals = add(totals, await counted("api and worker, by hand", () => deploy(app, image, folder)));
  }
  console.log(totalsLine(totals));
  process.exitCode = totals.failed > 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
