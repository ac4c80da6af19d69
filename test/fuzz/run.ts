import { once } from "node:events";
import http from "node:http";
import fc from "fast-check";
import { testKeys } from "../helpers/http/api-keys.ts";
import { assertContract } from "../helpers/http/contract.ts";
import { type Answer, startServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { rawRequest, sendRaw } from "./raw-requests.ts";
import { type FuzzRequest, fuzzRequest, type Name } from "./requests.ts";
import { type FuzzedServer, startFuzzedProcess } from "./server-process.ts";

/** A request without an answer for so long hangs. */
const HANG_MS = 10_000;
/** How often a request is sent whose answer is lost. */
const TRIES = 5;
/** Requests under way at once. */
const AT_ONCE = 6;
/** Most ids that are remembered to be asked for again. */
const REMEMBERED = 200;

const generated = fc.array(fuzzRequest, { minLength: AT_ONCE, maxLength: AT_ONCE });
const raws = fc.array(rawRequest, { minLength: 1, maxLength: 3 });

/** Whose keys a guarded server takes. */
const keys = testKeys({ ann: ["submit"], bob: ["submit", "read"], arm: ["work"], root: ["admin"] });
const CALLERS = ["ann", "bob", "arm", "root"] as const;

const OPEN = { SYNC_LIMIT: "40ms", MAX_BODY: "4kb", MAX_WAITING: "20" };
const GUARDED = {
  ...OPEN,
  ...keys.env,
  URL_SIGNING_KEY: "a-key-of-at-least-thirty-two-characters",
  RATE_LIMIT: "100000/1m",
  CORS_ORIGINS: "https://app.example",
  TRUST_PROXY: "true",
  PENDING_STATUS: "202",
  PARTITIONS: "3",
};

/** What a run has seen. */
export interface Fuzzed {
  readonly requests: number;
  /** How often each status came. */
  readonly statuses: ReadonlyMap<number, number>;
}

/**
 * Sends generated requests to a server of its own and holds every answer against what is promised of all answers.
 * @throws Error with the shortest requests that break a promise, and the seed
 */
export async function fuzz(options: {
  requests: number;
  seed: number;
  /** Keys, signed links, a rate limit, several partitions. */
  guarded: boolean;
  /** In a process of its own, with little memory and a gateway: no request may end it. */
  apart: boolean;
  /** Looks for fewer requests that break the promise as well, which may take minutes. */
  shrink?: boolean;
  onProgress?(sent: number): void;
}): Promise<Fuzzed> {
  const env = options.guarded ? GUARDED : OPEN;
  const server = options.apart
    ? await startFuzzedProcess(env)
    : { ...(await startServer(env)), ended: () => undefined };
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown) => rejections.push(reason);
  process.on("unhandledRejection", onRejection);
  const sender = new Sender(server, options.guarded);
  let read = 0;
  try {
    const runs = Math.ceil(options.requests / AT_ONCE);
    await fc.assert(
      fc.asyncProperty(generated, raws, async (requests, raw) => {
        const found = await Promise.all([
          ...requests.map((request) => sender.send(request)),
          ...raw.map((request) => sendRaw(server.url, request, HANG_MS)),
        ]);
        sender.sent += raw.length;
        options.onProgress?.(sender.sent);
        const wrong = [...found.flat(), ...rejections.splice(0).map((reason) => `unhandled rejection: ${reason}`)];
        const unforeseen = server.log
          .slice(read)
          .find((line) => String(line.msg).includes("unexpected error") || Number(line.level) >= 60);
        read = server.log.length;
        const ended = server.ended();
        if (ended !== undefined) wrong.push(ended);
        if (unforeseen) wrong.push(`unforeseen: ${JSON.stringify(unforeseen)}`);
        if (wrong.length > 0) throw new Error(wrong.join("\n"));
      }),
      {
        numRuns: runs,
        seed: options.seed,
        endOnFailure: options.shrink !== true,
        interruptAfterTimeLimit: 30 * 60_000,
      },
    );
    await isAlive(server);
    return { requests: sender.sent, statuses: sender.statuses };
  } finally {
    process.off("unhandledRejection", onRejection);
    await server.stop();
  }
}

/** @throws Error when the server no longer does its work */
async function isAlive(server: FuzzedServer): Promise<void> {
  const headers = keys.as("root");
  await server.send("/v1/queues/default/resume", { method: "POST", headers });
  await eventually(
    async () => (await server.post("default", ["still there"], headers)).json.input[0] === "still there",
  );
}

/** Sends requests with ids that the server has handed out. */
class Sender {
  readonly #server: FuzzedServer;
  readonly #guarded: boolean;
  readonly #ids: string[] = ["first"];
  readonly statuses = new Map<number, number>();
  sent = 0;

  constructor(server: FuzzedServer, guarded: boolean) {
    this.#server = server;
    this.#guarded = guarded;
  }

  /** What is wrong with the answer. */
  async send(request: FuzzRequest): Promise<string[]> {
    const search = new URLSearchParams(
      [...request.query].map(([name, value]): [string, string] => [name, value]),
    ).toString();
    const target = `${request.path.replaceAll("{id}", () => this.#nameOf(request.id))}${search === "" ? "" : `?${search}`}`;
    this.sent += 1;
    const said = `${request.method} ${target} ${JSON.stringify(request.headers)} ${request.body?.toString("latin1").slice(0, 200)}`;
    try {
      const answer = await this.#exchange(request, target);
      this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
      this.#remember(answer);
      await assertContract(request.method, target, answer);
      return [];
    } catch (error) {
      return [`${error}\n  to ${said}`];
    }
  }

  #nameOf(name: Name): string {
    return "made" in name ? name.made : (this.#ids[name.known % this.#ids.length] ?? "first");
  }

  #remember(answer: Answer): void {
    const id = /"id":"([^"]{1,140})"/.exec(answer.text.slice(0, 2000))?.[1];
    if (id === undefined || this.#ids.includes(id)) return;
    if (this.#ids.length < REMEMBERED) this.#ids.push(id);
    else this.#ids[this.sent % REMEMBERED] = id;
  }

  /** @throws Error when there is no answer in time */
  async #exchange(request: FuzzRequest, target: string): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#exchangeOnce(request, target);
      } catch (error) {
        // The server has refused the request and closed before the body was sent: its answer may be lost (RFC 9112 §9.6).
        if ((error as NodeJS.ErrnoException).code !== "EPIPE" || tries === TRIES) throw error;
      }
    }
  }

  async #exchangeOnce({ method, headers: sent, body, pieces, caller }: FuzzRequest, target: string): Promise<Answer> {
    const { hostname, port } = new URL(this.#server.url);
    const name = this.#guarded ? CALLERS[caller] : undefined;
    const headers = name === undefined ? sent : keys.as(name, sent);
    const encoded = wellFormed(target).replace(/[^\x21-\x7e]/gu, (char) => encodeURIComponent(char));
    const request = http.request({
      hostname,
      port,
      method,
      path: encoded,
      headers,
      agent: false,
      signal: AbortSignal.timeout(HANG_MS),
    });
    const answered = Promise.race([
      once(request, "response") as Promise<[http.IncomingMessage]>,
      once(request, "close").then((): never => {
        throw new Error("closed without an answer");
      }),
    ]);
    request.on("error", () => undefined);
    if (body && pieces > 0)
      for (let at = 0; at < body.length; at += pieces) request.write(body.subarray(at, at + pieces));
    else if (body) request.setHeader("Content-Length", body.length).write(body);
    request.end();
    const [response] = await answered;
    const chunks: Buffer[] = [];
    // A stream of events goes on for as long as its task: its beginning is enough.
    const endless =
      response.headers["content-type"] === "text/event-stream; charset=utf-8" ||
      response.headers["content-type"] === "text/event-stream";
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      if (endless) break;
    }
    const whole = Buffer.concat(chunks);
    const text = whole.toString("utf8");
    return { status: response.statusCode ?? 0, headers: response.headers, body: whole, text, json: undefined };
  }
}

/** A half of a pair of surrogates has no form in UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
