/**
 * `npx tsx scripts/install.ts`: packs the package, installs the tarball in an empty folder with npm, as a user would, and checks the
 * result: its size and number of packages, that no package has an install script, that its types hold in a strict
 * project, that it runs, and that `paihao init` makes a project that can be tested and started at once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../src/errors.ts";
import { eventually } from "../test/shared/eventually.ts";
import { reservePort } from "../test/shared/ports.ts";
import { ROOT } from "../test/shared/root.ts";
import { megabytes, pack, run } from "./packed.ts";

const MAX = { bytes: 34 * 1024 ** 2, packages: 90 } as const;
const NPM_QUIETLY = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel", "error"] as const;

/** npm reads settings from environment variables as well. */
const QUIETLY = { npm_config_prefer_offline: "true", npm_config_loglevel: "error" };
const START_MS = 60_000;
const STOP_MS = 30_000;

/** A user's program, in a strict project. */
const PROGRAM = `import assert from "node:assert/strict";
import { defineHandler, start } from "paihao";
import { PaihaoClient } from "paihao/client";
import { runHandler, testServer } from "paihao/testing";

const greet = defineHandler({ queue: "greet", run: ({ name }: { name: string }) => \`Hello, \${name}!\` });
assert.equal((await runHandler(greet, { name: "Ada" })).result, "Hello, Ada!");

for (const server of [
  await start({ handlers: [greet], port: 0, store: "embedded", logLevel: "silent", rateLimit: "1000/1m" }),
  await testServer({ handlers: [greet], rateLimit: "1000/1m" }),
]) {
  assert.equal(await new PaihaoClient({ url: server.url }).run("greet", { name: "Ada" }), "Hello, Ada!");
  const answer = await fetch(\`\${server.url}/v1/queues/greet/requests\`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: "Ada" }),
  });
  assert.equal(await answer.json(), "Hello, Ada!");
  assert(answer.headers.has("RateLimit"));
  const docs = await (await fetch(\`\${server.url}/docs\`)).text();
  const scripts = [...docs.matchAll(/ src="([^"]+\\.js)"/g)].map(([, path = ""]) => path);
  assert.equal(scripts.length, 1);
  for (const page of ["/docs", "/dashboard", "/metrics", "/openapi.json", ...scripts]) {
    assert.equal((await fetch(new URL(page, server.url))).status, 200, page);
  }
  await server.stop();
}
`;
const STRICT = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    // The declarations of the package are checked as well.
    skipLibCheck: false,
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    outDir: "compiled",
  },
  files: ["program.ts"],
};

interface Lock {
  readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
}

/** The size of a folder on disk, in bytes. */
function diskBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => lstatSync(join(folder, path)).blocks * 512)
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** Runs one check; a failed one sets the exit code. */
async function checked(name: string, check: () => string | Promise<void> | undefined): Promise<void> {
  try {
    const said = await check();
    console.log(`  ✔ ${name}${typeof said === "string" ? `: ${said}` : ""}`);
  } catch (error) {
    console.log(`✘ ${name}: ${messageOf(error)}`);
    process.exitCode = 1;
  }
}

/** Starts a new project as its owner would, submits a task with its command, and interrupts it. */
async function startAndSubmit(project: string): Promise<void> {
  const port = String(await reservePort());
  const url = `http://127.0.0.1:${port}`;
  const env = { ...process.env, PORT: port, STORE: "embedded", LOG_LEVEL: "warn" };
  const npm = spawn("npm", ["start"], { cwd: project, env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  npm.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = once(npm, "exit", { signal: AbortSignal.timeout(START_MS + STOP_MS) });
  try {
    await eventually(async () => (await fetch(`${url}/readyz`)).ok, START_MS);
    const submit = ["--no-install", "paihao", "submit", "greet", '{"name":"Ada"}', "--wait", "--url", url];
    const answer = run("npx", submit, project);
    expected(answer.includes("Hello, Ada!"), `submit printed ${answer}`);
    // Like Ctrl-C in a terminal, it reaches every process of the group.
    if (npm.pid !== undefined) process.kill(-npm.pid, "SIGINT");
    await ended;
  } catch (error) {
    throw new Error(`${messageOf(error)}\n${said}`);
  } finally {
    if (npm.exitCode === null && npm.signalCode === null && npm.pid !== undefined) process.kill(-npm.pid, "SIGKILL");
  }
}

const expected = (holds: boolean, said: string): string => {
  if (!holds) throw new Error(said);
  return said;
};

const folder = mkdtempSync(join(tmpdir(), "paihao-install-"));
try {
  console.log("▸ the package, installed from its tarball");
  const tarball = pack(folder);
  const consumer = join(folder, "consumer");
  mkdirSync(consumer);
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  run("npm", ["install", ...NPM_QUIETLY, tarball], consumer);
  const modules = join(consumer, "node_modules");
  const { packages }: Lock = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));

  const checks: Readonly<Record<string, () => string | undefined>> = {
    "size of node_modules": () => {
      const bytes = diskBytes(modules);
      return expected(bytes <= MAX.bytes, `${megabytes(bytes)}, at most ${megabytes(MAX.bytes)}`);
    },
    "number of packages": () => {
      const count = Object.keys(packages).length;
      return expected(count <= MAX.packages, `${count}, at most ${MAX.packages}`);
    },
    "no install scripts": () => {
      const having = Object.keys(packages).filter((name) => packages[name]?.hasInstallScript);
      expected(having.length === 0, having.join(", "));
      return undefined;
    },
    "types in a strict project": () => {
      writeFileSync(join(consumer, "program.ts"), PROGRAM);
      writeFileSync(join(consumer, "tsconfig.json"), JSON.stringify(STRICT));
      run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."], consumer);
      return undefined;
    },
    "a program that uses it": () => void run(process.execPath, [join("compiled", "program.js")], consumer),
    "its command": () => void run("npx", ["--no-install", "paihao", "--help"], consumer),
  };
  const project = join(consumer, "my-tasks");
  const projectChecks: Readonly<Record<string, () => string | Promise<void> | undefined>> = {
    "paihao init, with npm install": () => {
      const init = ["--no-install", "paihao", "init", "my-tasks"];
      run("npx", init, consumer, { ...process.env, ...QUIETLY });
      return undefined;
    },
    "npm test of the project": () => {
      const said = run("npm", ["test"], project);
      // With # or ℹ, depending on the version of Node.
      return expected(/^\S pass 3$/m.test(said) && /^\S fail 0$/m.test(said), "3 tests");
    },
    "npm start of the project": () => startAndSubmit(project),
    "paihao init --python": () => {
      run("npx", ["--no-install", "paihao", "init", "in-python", "--python", "--no-install"], consumer);
      return expected(existsSync(join(consumer, "in-python/paihao/py.typed")), "it has the Python package");
    },
  };
  for (const [name, check] of Object.entries({ ...checks, ...projectChecks })) await checked(name, check);
} finally {
  rmSync(folder, { recursive: true });
}
