import { setTimeout as sleep } from "node:timers/promises";
import { Servers } from "./servers.ts";
import type { Entry, Faults } from "./services/service.ts";
import { Services } from "./services/services.ts";
import { type Outcome, type Tally, tally } from "./tally.ts";

/** What the demo does. */
export interface DemoOptions {
  readonly deliveries: number;
  readonly workers: number;
  readonly faults: Faults;
  /** How many workers are killed, spread over the deliveries; ignored with `killEveryMs`. */
  readonly kills: number;
  /** A worker is killed this often, ms, until all deliveries are done. */
  readonly killEveryMs?: number | undefined;
  readonly redisUrl?: string | undefined;
  /** How the servers are started, see {@link Servers}. */
  readonly command?: readonly string[];
  /** Called with the progress, about once a second. */
  onProgress?(done: number, kills: number): void;
}

/** The result of the demo. */
export interface DemoResult extends Tally {
  readonly kills: number;
  /** Requests that the services answered, in the order of time. */
  readonly journal: readonly Entry[];
}

/** The maximum number of lines in a batch. */
const BATCH = 1000;
const QUEUES = ["deliveries", "paihao.undo"];

/**
 * Orders deliveries, kills workers meanwhile, waits until everything is done or undone, and compares the services with the
 * outcomes.
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const services = new Services(options.faults);
  const env = await services.start();
  const servers = new Servers({ workers: options.workers, redisUrl: options.redisUrl, command: options.command, env });
  let killing: NodeJS.Timeout | undefined;
  try {
    await servers.start();
    const ids = await order(servers.url, options.deliveries);
    if (options.killEveryMs !== undefined) killing = setInterval(() => servers.killWorker(), options.killEveryMs);
    const kills = options.killEveryMs === undefined ? options.kills : 0;
    await allDone(servers.url, (open) => {
      const done = ids.length - open;
      if (servers.kills < kills && done >= (servers.kills / kills) * ids.length) servers.killWorker();
      options.onProgress?.(done, servers.kills);
    });
    clearInterval(killing);
    const outcomes = await outcomesOf(servers.url, ids);
    const journal = services.all.flatMap((service) => service.journal).sort((a, b) => a.at - b.at);
    return { ...tally(services.all, outcomes), kills: servers.kills, journal };
  } finally {
    clearInterval(killing);
    await servers.stop();
    await services.stop();
  }
}

/** Submits orders in batches; returns the ids of those that were accepted. */
async function order(url: string, deliveries: number): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < deliveries; from += BATCH) {
    const lines = Array.from({ length: Math.min(BATCH, deliveries - from) }, (_, n) =>
      JSON.stringify({ account: `A${(from + n) % 500}`, kg: 0.5 + ((from + n) % 9) / 2, from: "Delft", to: "Gouda" }),
    );
    const headers = { "Content-Type": "application/x-ndjson" };
    const response = await fetch(`${url}/v1/queues/deliveries/batches`, {
      method: "POST",
      headers,
      body: lines.join("\n"),
    });
    for (const line of (await response.text()).trim().split("\n")) {
      const { id, problem } = JSON.parse(line) as { id?: string; problem?: { title: string } };
      if (id === undefined) throw new Error(`an order was refused: ${problem?.title}`);
      ids.push(id);
    }
  }
  return ids;
}

/** Resolves when no delivery and no undo is waiting or running. */
async function allDone(url: string, onProgress: (open: number) => void): Promise<void> {
  for (;;) {
    let open = 0;
    for (const queue of QUEUES) {
      const response = await fetch(`${url}/v1/queues/${queue}`);
      const { waiting, scheduled, running } = (await response.json()) as Record<string, number>;
      open += (waiting ?? 0) + (scheduled ?? 0) + (running ?? 0);
    }
    onProgress(open);
    if (open === 0) return;
    await sleep(1000);
  }
}

async function outcomesOf(url: string, ids: readonly string[]): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  for (let from = 0; from < ids.length; from += 100) {
    const some = ids.slice(from, from + 100).map(async (id) => {
      const response = await fetch(`${url}/v1/requests/${id}/status`);
      const { state } = (await response.json()) as { state: string };
      if (state !== "succeeded" && state !== "failed") throw new Error(`${id} is ${state}`);
      outcomes.set(id, state);
    });
    await Promise.all(some);
  }
  return outcomes;
}
