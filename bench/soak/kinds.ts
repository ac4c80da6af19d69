import { setTimeout as delay } from "node:timers/promises";

/** A caller gives up after this, ms. */
const PATIENCE_MS = 15_000;
/** Pause before a call that found no server is repeated, ms. */
const RETRY_MS = 200;
const ASYNC = { Prefer: "respond-async" };

/** What a kind of task needs. */
export interface Calls {
  /** The URL of the server that is called now. */
  url(): string;
  /** Where webhooks are received. */
  readonly hook: string;
}

/** Submits the nth task of its kind, and acts as its caller. */
export type Kind = (calls: Calls, n: number) => Promise<unknown>;

async function call(
  calls: Calls,
  method: string,
  path: string,
  more: { input?: unknown; text?: string; headers?: object } = {},
) {
  const { input, headers, text = input === undefined ? undefined : JSON.stringify(input) } = more;
  const body = text === undefined ? {} : { body: text };
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await fetch(calls.url() + path, {
        ...{ method, headers: { "Content-Type": "application/json", ...headers }, ...body },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      await answer.text();
      const { status, headers: told } = answer;
      return { status, id: told.get("x-request-id") ?? "", location: told.get("location") ?? "" };
    } catch (error) {
      // The server is being restarted.
      if (tries === 50) throw error;
      await delay(RETRY_MS);
    }
  }
}

function submit(calls: Calls, queue: string, input: unknown, query = "") {
  return call(calls, "POST", `/v1/queues/${queue}/requests${query}`, { input, headers: ASYNC });
}

/** All kinds of tasks. The latency of those that are answered synchronously is measured: see load.ts. */
export const KINDS: readonly Kind[] = [
  (calls) => call(calls, "POST", "/v1/queues/plain/requests", { input: null }),
  (calls, n) => submit(calls, "fair", { tenant: `tenant-${n % 10}` }),
  (calls, n) => submit(calls, "keyed", { account: `account-${n % 10}` }),
  async (calls) => {
    const { id } = await submit(calls, "output", null);
    // Follows what is written until the task ends.
    await call(calls, "GET", `/v1/requests/${id}/output`);
  },
  (calls, n) => submit(calls, "trip", { fails: n % 2 === 0 }),
  (calls, n) => submit(calls, "flaky", { doomed: n % 10 === 0 }),
  (calls) => submit(calls, "plain", null, `?webhook=${encodeURIComponent(calls.hook)}`),
  (calls) => submit(calls, "plain", null, "?delay=2"),
  // Nobody looks at it again.
  (calls) => submit(calls, "plain", null, "?delay=8&presence=5"),
  async (calls) => {
    const { id } = await submit(calls, "plain", null);
    await call(calls, "GET", `/v1/requests/${id}/events`, { headers: { Accept: "text/event-stream" } });
  },
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
