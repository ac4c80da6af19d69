import { VENDOR } from "./package-source.ts";
import { PYTHON_SERVICES, PYTHON_TEST, pythonReadme, QUEUES, WORKER, WORKER_STAGE } from "./python-project.ts";

/** What the files of a new project depend on. */
export interface ProjectOptions {
  readonly name: string;
  /** What to install as these packages. */
  readonly paihao: string;
  readonly zod: string;
  /** Whether the Node of this machine reads TypeScript by itself; otherwise the project has tsx. */
  readonly stripsTypes: boolean;
  /** The files of the Python package, if the work is done in Python. */
  readonly python?: Readonly<Record<string, string>> | undefined;
}

/** The files of a new project, by their paths. */
export function projectFiles(options: ProjectOptions): Readonly<Record<string, string>> {
  const { name, paihao, python } = options;
  const vendored = paihao.startsWith(`file:${VENDOR}`);
  const dockerfile = vendored ? DOCKERFILE.replace(COPIED, `$&\nCOPY ${VENDOR} ./${VENDOR}`) : DOCKERFILE;
  const inReadme = vendored ? `\n| ${VENDOR}/ | the package \`paihao\`, as this project installs it: commit it |` : "";
  const shared = {
    "package.json": manifest(options),
    ".env": ENV,
    ".dockerignore": `node_modules\n.paihao\n.git\n.env\n${KEYS}`,
  };
  if (python) {
    return {
      ...shared,
      ...python,
      "handlers/queues.json": QUEUES,
      "worker.py": WORKER,
      "test_worker.py": PYTHON_TEST,
      Dockerfile: dockerfile.replace("bookworm-slim", "$& AS server").replace(HANDLERS_RUN, "") + WORKER_STAGE,
      "compose.yaml": COMPOSE.replace(SERVICES, PYTHON_SERVICES),
      ".gitignore": `node_modules/\n.paihao/\n__pycache__/\n${KEYS}`,
      "README.md": pythonReadme(name, inReadme),
    };
  }
  return {
    ...shared,
    "handlers/greet.ts": HANDLER,
    "test/greet.test.ts": TEST,
    Dockerfile: dockerfile,
    "compose.yaml": COMPOSE,
    "tsconfig.json": TSCONFIG,
    ".gitignore": `node_modules/\n.paihao/\n${KEYS}`,
    "README.md": readme(name, inReadme),
  };
}

/** npm passes its end on to the shell only, so the server takes the place of that; on Windows there is no `exec`. */
const inPlace = (command: string) => (process.platform === "win32" ? command : `exec ${command}`);

function manifest({ name, paihao, zod, stripsTypes, python }: ProjectOptions): string {
  const test = stripsTypes ? "node --test" : "node --import tsx --test test/*.test.ts";
  const project = {
    name,
    private: true,
    type: "module",
    engines: { node: stripsTypes && !python ? ">=22.18" : ">=20.19" },
    scripts: {
      start: inPlace("paihao start"),
      dev: inPlace("paihao dev"),
      ...(python ? { worker: inPlace("python3 worker.py"), test: "python3 -m unittest" } : { test }),
    },
    dependencies: { paihao, ...(python ? {} : { ...(stripsTypes ? {} : { tsx: "^4.19.0" }), zod }) },
  };
  return `${JSON.stringify(project, null, 2)}\n`;
}

const HANDLER = `import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler } from "paihao";
import { z } from "zod";

/** Each export of defineHandler in this folder is a queue. This one greets, and takes a second for it. */
export const greet = defineHandler({
  queue: "greet",
  input: z.object({ name: z.string().min(1).max(80).meta({ examples: ["Ada"] }) }),
  timeout: "30s",
  async run({ name }, task) {
    for (const percent of [0, 25, 50, 75]) {
      task.progress(percent, "thinking of words");
      await sleep(250, undefined, { signal: task.signal });
    }
    // A completed step is not done again if this attempt fails later.
    const text = await task.step("compose", () => \`Hello, \${name}!\`);
    return { text };
  },
});
`;

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { runHandler, testServer } from "paihao/testing";
import { greet } from "../handlers/greet.ts";

test("greets by name", async () => {
  const { result, progress } = await runHandler(greet, { name: "Ada" });
  assert.deepEqual(result, { text: "Hello, Ada!" });
  assert.equal(progress.length, 4);
});

test("refuses a name that is empty", async () => {
  await assert.rejects(runHandler(greet, { name: "" }), { name: "AttemptFailed", state: "failed" });
});

test("is served over HTTP", async (t) => {
  const server = await testServer({ handlers: [greet] });
  t.after(() => server.stop());
  const { text } = await server.client.run("greet", { name: "Grace" });
  assert.equal(text, "Hello, Grace!");
  await server.drained();
});
`;

/** What the guides call the files of API keys. */
const KEYS = "keys\n*.key\n";

const ENV = `# Settings of the server, read by all commands of paihao. All of them, with their defaults: node_modules/paihao/.env.example
# No secrets here if this file is committed.
HANDLERS=handlers
# PORT=3000
# CONCURRENCY=8
# Without it: the redis-server of this machine with its data in .paihao, else an embedded store in memory.
# REDIS_URL=redis://localhost:6379
`;

/** package.json and the packages that it names must be copied before npm installs. */
const COPIED = "COPY package*.json ./";

/** Where system packages go. */
const HANDLERS_RUN = `# What handlers run beside Node, such as chromium or ffmpeg:
# RUN apt-get update && apt-get install -y --no-install-recommends chromium && rm -rf /var/lib/apt/lists/*
`;

const DOCKERFILE = `FROM node:24.11.0-bookworm-slim
${HANDLERS_RUN}WORKDIR /app
${COPIED}
RUN npm install --omit=dev --no-audit --no-fund
COPY . .
USER node
CMD ["node_modules/.bin/paihao", "start"]
`;

/** Those that use the package. */
const SERVICES = `  api:
    <<: *tasks
    environment:
      <<: *environment
      ROLE: api
      # The names that callers use, besides 127.0.0.1: others are refused, so that no web page gets in under its own (DNS rebinding).
      # Add \`api\` for further containers, and the name of a proxy in front.
      ALLOWED_HOSTS: localhost
    ports:
      - "127.0.0.1:\${PORT:-3000}:3000"

  worker:
    <<: *tasks
    environment:
      <<: *environment
      ROLE: worker
`;

const COMPOSE = `# Redis, the API and workers: docker compose up --build
# More workers: docker compose up --build --scale worker=4

# Limits what a compromised process can do.
x-hardened: &hardened
  cap_drop:
    - ALL
  security_opt:
    - no-new-privileges:true

# A container that logs much must not fill the disk.
x-logged: &logged
  logging:
    driver: local
    options:
      max-size: 10m
      max-file: "5"

x-tasks: &tasks
  build: .
  init: true
  restart: unless-stopped
  <<: [*hardened, *logged]
  # Longer than DRAIN_TIMEOUT (20s), so that running tasks can end.
  stop_grace_period: 35s
  env_file: .env
  # With API_KEYS_FILE=keys in .env, and the file readable for the user 1000:
  # volumes:
  #   - ./keys:/app/keys:ro
  depends_on:
    redis:
      condition: service_healthy

x-environment: &environment
  REDIS_URL: redis://redis:6379
  HOST: 0.0.0.0
  PORT: "3000"
  # Open on purpose: the port is published on this machine only. For others set API_KEYS, see \`npx paihao keys create --help\`.
  AUTH: none

services:
  redis:
    image: redis:8.2.2
    # Set here because the image cannot switch to this user without capabilities.
    user: redis
    <<: [*hardened, *logged]
    command: ["redis-server", "--appendonly", "yes", "--maxmemory", "1gb", "--maxmemory-policy", "noeviction"]
    restart: unless-stopped
    volumes:
      - redis-data:/data
    healthcheck:
      test: ["CMD-SHELL", "redis-cli ping | grep -q PONG"]
      interval: 5s
      timeout: 3s
      retries: 10

${SERVICES}
volumes:
  redis-data:
`;

/** For editors, and for users who install typescript and @types/node; nothing else needs it. */
const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "erasableSyntaxOnly": true,
    "allowImportingTsExtensions": true,
    "skipLibCheck": true
  },
  "include": ["handlers", "test"]
}
`;

function readme(name: string, vendored: string): string {
  return `# ${name}

Tasks behind HTTP, with a place in line for everyone who waits, by [paihao](node_modules/paihao/README.md).

\`\`\`sh
npm run dev          # the server on http://127.0.0.1:3000, again whenever a file changes; the dashboard is at /dashboard
npm start            # the same, to stay
npm test             # the handlers, without and with a server
docker compose up --build
\`\`\`

In another terminal:

\`\`\`sh
npx paihao submit greet '{"name":"Ada"}' --watch
curl -X POST localhost:3000/v1/queues/greet/requests -H 'Content-Type: application/json' -d '{"name":"Ada"}'
npx paihao doctor    # checks Node, handlers, store and port, and says what to do
\`\`\`

| file | what it is |
|---|---|
| handlers/greet.ts | a handler: add more, each export of \`defineHandler\` is a queue |
| test/greet.test.ts | its test, with \`paihao/testing\` |
| .env | settings |
| Dockerfile | the image: this folder, with a line for what handlers need beside Node |
| compose.yaml | Redis, the API and workers |${vendored}

To check types: \`npm install --save-dev typescript @types/node\`, then \`npx tsc\`.
`;
}
