import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** A caller gives up after this, ms. */
const PATIENCE_MS = 60_000;

/** How often a task of each kind is submitted, ms. */
const EVERY_MS = 400;
/** Maximum number of tasks that callers wait for; further calls are left out and counted. */
const MOST_OPEN = 200;

/** What a kind of task needs. */
interface Calls {
  readonly url: string;
  /** Where webhooks are received. */
  readonly hook: string;
}

/** Submits the nth task of its kind, and acts as its caller. */
type Kind = (calls: Calls, n: number) => Promise<unknown>;

async function call({ url }: Calls, method: string, path: string, more: { text?: string; headers?: object } = {}) {
  const { text, headers } = more;
  const answer = await fetch(url + path, {
    ...{ method, headers: { "Content-Type": "application/json", ...headers } },
    ...(text !== undefined && { body: text }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  await answer.text();
  return { id: answer.headers.get("x-request-id") ?? "", location: answer.headers.get("location") ?? "" };
}

function submit(calls: Calls, queue: string, input: unknown, query = "") {
  const headers = { Prefer: "respond-async" };
  return call(calls, "POST", `/v1/queues/${queue}/requests${query}`, { text: JSON.stringify(input), headers });
}

/** What the usual callers do not do. */
const KINDS: readonly Kind[] = [
  (calls, n) => submit(calls, "fair", { tenant: `tenant-${n % 10}` }),
  async (calls) => {
    const { id } = await submit(calls, "output", null);
    // Follows what is written until the task ends.
    await call(calls, "GET", `/v1/requests/${id}/output`);
  },
  (calls, n) => submit(calls, "trip", { fails: n % 2 === 0 }),
  (calls) => submit(calls, "plain", null, `?webhook=${encodeURIComponent(calls.hook)}`),
  // Nobody looks at it again.
  (calls) => submit(calls, "plain", null, "?delay=8&presence=5"),
  (calls, n) => submit(calls, "batch", { doomed: n % 10 === 0 }),
  // Some are refused.
  (calls, n) => submit(calls, "limited", { account: `account-${n % 3}` }),
  async (calls, n) => {
    const headers = { "Content-Type": "application/x-ndjson" };
    const text = "null\n".repeat(10);
    const query = `?group=true&webhook=${encodeURIComponent(calls.hook)}`;
    const { location } = await call(calls, "POST", `/v1/queues/plain/batches${query}`, { text, headers });
    if (n % 10 === 0) await call(calls, "DELETE", location);
    else await call(calls, "GET", `${location}/results?follow=true`);
  },
  async (calls) => {
    const { id } = await submit(calls, "trip", { fails: false });
    // Canceled, or deleted and undone.
    await call(calls, "DELETE", `/v1/requests/${id}`);
  },
];

/** Callers of tasks of further kinds, at a fixed rate, which also receive webhooks. What they hear is not checked. */
export class Beside {
  submitted = 0;
  /** Calls without an answer in time, and those that were left out. */
  readonly missed = { failed: 0, leftOut: 0 };
  hooks = 0;
  readonly #url: string;
  #open = 0;
  #isOver = false;
  #running: Promise<void> | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  start(): void {
    this.#isOver = false;
    this.#running = this.#run();
  }

  /** No more come; resolves when all are answered. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const receiver = createServer((request, response) => {
      this.hooks += 1;
      request.resume();
      response.end();
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const calls = { url: this.#url, hook: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` };
    for (let n = 0; !this.#isOver; n += 1) {
      for (const kind of KINDS) void this.#one(() => kind(calls, n));
      await delay(EVERY_MS);
    }
    while (this.#open > 0) await delay(50);
    receiver.close();
    receiver.closeAllConnections();
  }

  async #one(act: () => Promise<unknown>): Promise<void> {
    if (this.#open >= MOST_OPEN) {
      this.missed.leftOut += 1;
      return;
    }
    this.#open += 1;
    this.submitted += 1;
    await act().catch(() => {
      this.missed.failed += 1;
    });
    this.#open -= 1;
  }
}
