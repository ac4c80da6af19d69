import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";

/** Clients that hand in tasks without a pause, each again under its id until it is accepted. */
export interface Load {
  /** Ids that a caller was told to be accepted. */
  readonly accepted: readonly string[];
  /** Statuses of answers other than 202, with how often each came. */
  readonly refusals: ReadonlyMap<number, number>;
  /** The longest that one request took, ms. */
  readonly slowestMs: () => number;
  /** Resolves when so many more have been accepted. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts clients that submit to the queue `default`. */
export function startLoad(server: TestServer, clients = 8): Load {
  const accepted: string[] = [];
  const refusals = new Map<number, number>();
  let slowest = 0;
  let going = true;
  const client = async () => {
    while (going) {
      const id = randomUUID();
      for (;;) {
        const began = performance.now();
        const headers = { Prefer: "respond-async", "X-Request-Id": id };
        const { status } = await server.send("/v1/queues/default/requests", { method: "POST", headers, body: { id } });
        slowest = Math.max(slowest, performance.now() - began);
        if (status === 202 || status === 200) {
          accepted.push(id);
          break;
        }
        refusals.set(status, (refusals.get(status) ?? 0) + 1);
        if (!going) return;
        // As the Retry-After of such an answer asks for, but for the patience of a test.
        await delay(20);
      }
    }
  };
  const all = Promise.all(Array.from({ length: clients }, client));
  return {
    accepted,
    refusals,
    slowestMs: () => slowest,
    async more(count) {
      const goal = accepted.length + count;
      await Promise.race([all, eventually(() => accepted.length >= goal, 30_000)]);
    },
    async stop() {
      going = false;
      await all;
    },
  };
}

/** Waits until every task has the result that its own input makes; returns those that have none. */
export async function withoutResult(server: TestServer, ids: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (let n = 0; n < ids.length; n += 50) {
    await Promise.all(
      ids.slice(n, n + 50).map(async (id) => {
        await eventually(async () => {
          const answer = await server.send(`/v1/requests/${id}`);
          return answer.status === 200 && answer.json.input.id === id;
        }, 10_000).catch(() => missing.push(id));
      }),
    );
  }
  return missing;
}
