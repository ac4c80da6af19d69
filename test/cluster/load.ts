import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";

/** Where tasks are handed in. */
type Target = Pick<TestServer, "send">;

/** Which tasks clients hand in. */
interface LoadOptions {
  readonly clients?: number;
  /** The clients take turns over these. */
  readonly queues?: readonly string[];
  /** Whether the server makes the ids, from Idempotency-Keys. Default: the clients choose them. */
  readonly madeIds?: boolean;
}

/** Clients that hand in tasks without a pause, each again under its id until it is accepted. */
export interface Load {
  /** What a caller was told to be accepted: ids, and the inputs of these tasks. */
  readonly accepted: ReadonlyMap<string, string>;
  /** Statuses of answers other than 202, with how often each came. */
  readonly refusals: ReadonlyMap<number, number>;
  /** How many of a queue were accepted so far. */
  count(queue: string): number;
  /** The longest that one request took so far, ms. */
  slowestMs(): number;
  /** Resolves when so many more have been accepted; with queues, in each of them. */
  more(count: number, queues?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts clients; by default eight that submit to the queue `default`. */
export function startLoad(
  server: Target,
  { clients = 8, queues = ["default"], madeIds = false }: LoadOptions = {},
): Load {
  const accepted = new Map<string, string>();
  const refusals = new Map<number, number>();
  const counts = new Map<string, number>();
  let slowest = 0;
  let going = true;
  const client = async (queue: string) => {
    while (going) {
      const text = randomUUID();
      for (;;) {
        const began = performance.now();
        const headers = { Prefer: "respond-async", [madeIds ? "Idempotency-Key" : "X-Request-Id"]: text };
        const sent = { method: "POST", headers, body: { text } };
        const { status, json } = await server.send(`/v1/queues/${queue}/requests`, sent);
        slowest = Math.max(slowest, performance.now() - began);
        if (status === 202 || status === 200) {
          accepted.set(json.id, text);
          counts.set(queue, (counts.get(queue) ?? 0) + 1);
          break;
        }
        refusals.set(status, (refusals.get(status) ?? 0) + 1);
        if (!going) return;
        // As the Retry-After of such an answer asks for, but for the patience of a test.
        await delay(20);
      }
    }
  };
  const all = Promise.all(Array.from({ length: clients }, (_, n) => client(queues[n % queues.length] ?? "default")));
  return {
    accepted,
    refusals,
    count: (queue) => counts.get(queue) ?? 0,
    slowestMs: () => slowest,
    async more(count, some) {
      const counters = some ? some.map((queue) => () => counts.get(queue) ?? 0) : [() => accepted.size];
      const goals = counters.map((counter) => counter() + count);
      const isThere = () => counters.every((counter, n) => counter() >= (goals[n] ?? 0));
      await Promise.race([all, eventually(isThere, 30_000)]);
    },
    async stop() {
      going = false;
      await all;
    },
  };
}

/** Waits until every task has the result that its own input makes; returns those that have none. */
export async function withoutResult(server: Target, { accepted }: Pick<Load, "accepted">): Promise<string[]> {
  const missing: string[] = [];
  const all = [...accepted];
  for (let n = 0; n < all.length; n += 50) {
    await Promise.all(
      all.slice(n, n + 50).map(async ([id, text]) => {
        await eventually(async () => {
          const answer = await server.send(`/v1/requests/${id}`);
          return answer.status === 200 && answer.json.input.text === text;
        }, 10_000).catch(() => missing.push(id));
      }),
    );
  }
  return missing;
}
