import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Keys } from "../../src/store/keys.ts";
import { startCluster, type TestCluster } from "../../test/shared/redis-cluster.ts";
import { mainThreadMicros } from "../harness/commandstats.ts";
import { startCallable } from "../harness/rpc.ts";
import { itemOf, openScripts, reservation } from "../scripts.ts";
import type { IdleCalls } from "../subjects/idle.ts";
import type { Costs } from "./cluster-model.ts";

const MASTERS = 3;
const PREFIX = "ph";
/** Until the processes have started and know all queues, ms. */
const SETTLED_MS = 6000;
/** Between two tasks, so that all processes have found the line empty again, ms. */
const TASK_MS = 40;
const LEASE_MS = 600_000;

/** What processes cost the masters of a cluster without work, and when they hear of a task in an empty line. */
export async function processCosts(seconds: number): Promise<Pick<Costs, "process" | "wake">> {
  const few = await costsOf({ workers: 2, partitions: 1, queues: 1 }, seconds);
  const many = await costsOf({ workers: 20, partitions: 1, queues: 1 }, seconds);
  const spread = await costsOf({ workers: 20, partitions: 6, queues: 1 }, seconds);
  const full = await costsOf({ workers: 20, partitions: 6, queues: 41 }, seconds);
  const partition = (spread.perSecond - many.perSecond) / 20 / 5;
  const queue = (full.perSecond - spread.perSecond) / 20 / 40;
  const base = (many.perSecond - few.perSecond) / 18 - partition - queue;
  return { process: { base, partition, queue }, wake: (many.perTask - few.perTask) / 18 };
}

/** µs of all masters: each second, and for each task that comes alone. */
async function costsOf(
  { workers, partitions, queues }: Readonly<Record<"workers" | "partitions" | "queues", number>>,
  seconds: number,
): Promise<{ perSecond: number; perTask: number }> {
  const keys = new Keys(PREFIX, partitions);
  const names = Array.from({ length: queues }, (_, n) => `queue-${n}`);
  // A queue with a lease and no worker in each partition: ticks come as often as while tasks run.
  const held = keys.tags.map((_, partition) => keys.idIn(partition, (n) => `held-${n}`));
  const cluster = await startCluster({ masters: MASTERS, replicas: 0 });
  const servers = startCallable<IdleCalls>("idle", [cluster.url]);
  const submit = async (queue: string) => {
    const tag = keys.tagOfQueue(queue);
    const { calls } = await openScripts((await cluster.ownerOf(tag)).admin, true);
    await calls.submit(tag, [
      {
        ...itemOf(
          keys.idIn(keys.partitionOfQueue(queue), () => randomUUID()),
          "1",
        ),
        queue,
      },
    ]);
    return { calls, tag };
  };
  try {
    for (const queue of held) {
      const { calls, tag } = await submit(queue);
      await calls.reserve(tag, { ...reservation(1), queue, leaseMs: LEASE_MS });
    }
    await servers.call("start", { workers, partitions, queues: names });
    await delay(SETTLED_MS);
    const idle = await masterMicros(cluster, () => delay(seconds * 1000));
    const tasks = (seconds * 1000) / TASK_MS;
    const began = performance.now();
    const busy = await masterMicros(cluster, async () => {
      for (let n = 0; n < tasks; n += 1) {
        await submit(names[0] ?? "");
        await delay(TASK_MS);
      }
    });
    const perSecond = idle / seconds;
    return { perSecond, perTask: (busy - (perSecond * (performance.now() - began)) / 1000) / tasks };
  } finally {
    await servers.stop();
    await cluster.stop();
  }
}

/** The CPU time of all masters during some work. */
export async function masterMicros({ nodes }: TestCluster, work: () => Promise<unknown>): Promise<number> {
  const now = async () =>
    (await Promise.all(nodes.map(({ admin }) => mainThreadMicros(admin)))).reduce((a, b) => a + b);
  const before = await now();
  await work();
  return (await now()) - before;
}
