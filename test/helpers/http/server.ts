import { once } from "node:events";
import http from "node:http";
import path from "node:path";
import { readConfig, secretsOf } from "../../../src/config/config.ts";
import { createLog } from "../../../src/log.ts";
import type { Running } from "../../../src/running.ts";
import { type StartParts, start } from "../../../src/server.ts";
import { Keys, START } from "../../../src/store/keys.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { eventually } from "../../shared/eventually.ts";
import { storeUrl, uniquePrefix } from "../store/run-store.ts";
import { removeKeys } from "../store/scan.ts";
import { TASK } from "../store/stored.ts";
import type { Answer } from "./answer.ts";
import { verdictsOf } from "./batch.ts";
import { assertContract } from "./contract.ts";

export type { Answer } from "./answer.ts";

/** A request to send. */
export interface Sent {
  readonly method?: string;
  /** A header may have several values, each a line of its own. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Bytes and text as they are, anything else as JSON; with a Content-Length. */
  readonly body?: unknown;
  /** In place of a body: sent as chunks, without a Content-Length. */
  readonly chunks?: readonly (string | Buffer)[];
  /** Whether the answer is to be as the contract says; false for a server that is not ours, or meant to fail. */
  readonly contract?: boolean;
}

/** A line of the log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A real server in this process, on the run's store but with a key prefix of its own. */
export interface TestServer {
  readonly url: string;
  readonly prefix: string;
  readonly doors: Running["doors"];
  /** What it has logged so far. */
  readonly log: readonly LogLine[];
  send(path: string, sent?: Sent): Promise<Answer>;
  /** Submits to a queue. */
  post(queue: string, input: unknown, headers?: Sent["headers"]): Promise<Answer>;
  /** Submits lines of JSON to a queue; returns their verdicts. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  batch(queue: string, lines: string, search?: string, headers?: Sent["headers"]): Promise<any[]>;
  /** Submits to a queue without waiting for it; returns the id. */
  enqueue(queue: string, input: unknown, search?: string): Promise<string>;
  /** Polls the monitor until the task is in this state. */
  until(id: string, state: string, headers?: Sent["headers"]): Promise<Answer>;
  /** Resolves when some process listens to the task. */
  untilHeld(id: string): Promise<void>;
  /** Stops it, and removes its keys unless they are kept for another one. */
  stop(options?: { keep?: boolean }): Promise<void>;
}

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers");

/** Starts a server; `env` wins over the usual settings of tests. */
export async function startServer(
  env: Readonly<Record<string, string>> = {},
  parts: StartParts = {},
): Promise<TestServer> {
  const variables = {
    REDIS_URL: storeUrl(),
    KEY_PREFIX: uniquePrefix(),
    PORT: "0",
    HANDLERS,
    DRAIN_TIMEOUT: "0s",
    ...env,
  };
  const log: LogLine[] = [];
  const config = readConfig(variables);
  const running: Running = await start(
    config,
    createLog(env.LOG_LEVEL === undefined ? "debug" : config.logLevel, {
      destination: { write: (line) => log.push(JSON.parse(line) as LogLine) },
      secrets: secretsOf(config),
    }),
    parts,
  );
  const { url = "" } = running;
  const send: TestServer["send"] = (at, sent) => exchange(new URL(at, url), sent);
  const post: TestServer["post"] = (queue, input, headers = {}) =>
    send(`/v1/queues/${queue}/requests`, { method: "POST", headers, body: input });
  return {
    url,
    prefix: variables.KEY_PREFIX,
    doors: running.doors,
    log,
    send,
    post,
    async batch(queue, body, search = "", headers = {}) {
      const all = { "Content-Type": "application/x-ndjson", ...headers };
      const answer = await send(`/v1/queues/${queue}/batches${search}`, { method: "POST", headers: all, body });
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
      return verdictsOf(answer.text);
    },
    async enqueue(queue, input, search = "") {
      const headers = { Prefer: "respond-async" };
      const answer = await send(`/v1/queues/${queue}/requests${search}`, { method: "POST", headers, body: input });
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
      return String(answer.headers["x-request-id"]);
    },
    until: (id, state, headers = {}) =>
      eventually(async () => {
        const answer = await send(`/v1/requests/${id}/status`, { headers });
        return answer.json.state === state && answer;
      }) as Promise<Answer>,
    async untilHeld(id) {
      const redis = await connectOnce(variables.REDIS_URL);
      const [tag = ""] = new Keys(variables.KEY_PREFIX, 1).tags;
      const named = () => redis.hexists(`${tag}${START.task}${id}`, TASK.listeners);
      await eventually(async () => (await named()) === 1).finally(() => redis.disconnect());
    },
    async stop({ keep = false } = {}) {
      await running.stop();
      if (!keep) await removeKeys(variables.REDIS_URL, variables.KEY_PREFIX);
    },
  };
}

/**
 * One request, on a connection of its own.
 * @throws Error when the answer breaks the contract
 */
export async function exchange(
  url: URL,
  { method = "GET", headers = {}, body, chunks, contract = true }: Sent = {},
): Promise<Answer> {
  const isJson = body !== undefined && typeof body !== "string" && !Buffer.isBuffer(body);
  const bytes = body === undefined ? undefined : bytesOf(body);
  const request = http.request(url, {
    method,
    agent: false,
    headers: {
      ...(isJson ? { "Content-Type": "application/json" } : {}),
      ...(bytes ? { "Content-Length": bytes.length } : {}),
      ...(headers as Record<string, string | string[]>),
    },
  });
  // If a server answers and closes before it has read everything, its response counts.
  request.on("error", () => undefined);
  for (const chunk of chunks ?? []) request.write(chunk);
  request.end(bytes);
  const [response] = (await Promise.race([
    once(request, "response"),
    once(request, "close").then(() => {
      throw new Error("the connection was closed without an answer");
    }),
  ])) as [http.IncomingMessage];
  const received: Buffer[] = [];
  for await (const chunk of response) received.push(chunk as Buffer);
  const whole = Buffer.concat(received);
  const answer: Answer = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: whole,
    text: whole.toString("utf8"),
    get json() {
      return JSON.parse(whole.toString("utf8"));
    },
  };
  if (contract) await assertContract(method, `${url.pathname}${url.search}`, answer);
  return answer;
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
