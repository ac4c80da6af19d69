import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { exchange, type LogLine, type TestServer } from "../helpers/http/server.ts";
import { endProcesses, startProcess } from "../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";
import { startUpstream } from "./upstream.ts";

/** The most that the heap of a fuzzed process may hold, MB. */
const MEMORY_MB = 256;
const FIXTURES = path.join(import.meta.dirname, "../fixtures/handlers/all.ts");

/** A server that is fuzzed. */
export type FuzzedServer = Pick<TestServer, "url" | "log" | "send" | "post" | "stop"> & {
  /** How it ended, where it has. */
  readonly ended: () => string | undefined;
};

/** Starts a server in a process of its own with little memory, with the fixtures' handlers and a gateway to a hostile API. */
export async function startFuzzedProcess(env: Readonly<Record<string, string>>): Promise<FuzzedServer> {
  const upstream = await startUpstream();
  const dir = await mkdtemp(path.join(tmpdir(), "paihao-fuzz-"));
  const gateway = `{ queue: "upstream", target: "http://127.0.0.1:${upstream.port}", attempts: 2, timeout: "2s" }`;
  await writeFile(
    path.join(dir, "handlers.ts"),
    `import { defineGateway } from "paihao";
     export * from ${JSON.stringify(pathToFileURL(FIXTURES).href)};
     export const upstream = defineGateway(${gateway});`,
  );
  const prefix = uniquePrefix();
  const server = await startProcess({
    ...{ NODE_OPTIONS: `--max-old-space-size=${MEMORY_MB}`, HANDLERS: dir, PORT: "0", KEY_PREFIX: prefix },
    ...{ DRAIN_TIMEOUT: "0s", LOG_LEVEL: "warn", MAX_RESULT: "256kb", ...env },
  });
  let ended: string | undefined;
  void server.ended.then((how) => {
    ended = `the process has ended (${how}): ${[...server.said, ...server.logged].slice(-5).join("; ")}`;
  });
  const log: LogLine[] = [];
  if (server.child.stdout) {
    createInterface(server.child.stdout).on("line", (line) => {
      if (line.startsWith("{")) log.push(JSON.parse(line) as LogLine);
    });
  }
  const send: TestServer["send"] = (at, sent) => exchange(new URL(at, server.url), sent);
  return {
    url: server.url,
    log,
    send,
    post: (queue, input, headers = {}) =>
      send(`/v1/queues/${queue}/requests`, { method: "POST", headers, body: input }),
    ended: () => ended,
    async stop() {
      await endProcesses([server]);
      upstream.stop();
      await rm(dir, { recursive: true });
      await removeKeys(storeUrl(), prefix);
    },
  };
}
