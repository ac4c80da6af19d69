import { setTimeout as delay } from "node:timers/promises";
import type { Peer, PeerCalls } from "../harness/peers.ts";
import { startCallable } from "../harness/rpc.ts";
import { type BenchStore, withStore } from "../harness/store.ts";

/** Bytes of Redis that a line takes. */
export interface LineMemory {
  readonly waiting: number;
  readonly bytes: number;
}

/** What a snapshot took while tasks ran: for AOF rewrites the same. */
interface Snapshot {
  /** How long the fork held Redis. */
  readonly forkMs: number;
  readonly seconds: number;
  /** Pages that were copied since they changed meanwhile, and the tasks that changed them. */
  readonly copiedBytes: number;
  readonly tasks: number;
}

/** Fills a line step by step, UUIDs as ids, and takes a snapshot of it when it is longest. */
export function lineMemory(lengths: readonly number[], bytes: number) {
  return withStore("no persistence", async (store) => {
    const paihao = startCallable<PeerCalls>("paihao", [store.url, "ph"]);
    try {
      const lines: LineMemory[] = [];
      let last = { waiting: 0, bytes: 0 };
      for (const waiting of lengths) {
        if (last.waiting > 0) lines.push(last);
        await paihao.call("fill", { count: waiting - last.waiting, bytes });
        last = { waiting, bytes: await store.usedMemory() };
      }
      return { lines, last, snapshot: await takeSnapshot(store, paihao, last.waiting) };
    } finally {
      await paihao.stop();
    }
  });
}

async function takeSnapshot({ redis }: BenchStore, paihao: Peer, waiting: number): Promise<Snapshot> {
  const info = async (field: string) => Number(new RegExp(`^${field}:(\\d+)`, "m").exec(await redis.info())?.[1]);
  const work = paihao.call("work", { count: waiting / 10, concurrency: 100 });
  while ((await redis.zcard("{ph:0}l:default")) === 0) await delay(1);
  const before = await redis.zcard("{ph:0}w:default");
  const began = performance.now();
  await redis.bgsave();
  while ((await info("rdb_bgsave_in_progress")) === 1) await delay(10);
  const seconds = (performance.now() - began) / 1000;
  const tasks = before - (await redis.zcard("{ph:0}w:default"));
  await work;
  return {
    forkMs: (await info("latest_fork_usec")) / 1000,
    seconds,
    copiedBytes: await info("rdb_last_cow_size"),
    tasks,
  };
}

/** The tables of all keys and of the line have a pointer of 8 bytes for each task, at the next power of two. */
const tableBytes = (waiting: number): number => 2 * 8 * 2 ** Math.ceil(Math.log2(waiting));

/** The bytes of another line: what the first line takes, and so much for each further task as the last has shown, with tables that double. */
export function predictedBytes(lines: readonly LineMemory[], waiting: number): number {
  const [first, last] = [lines[0], lines.at(-1)];
  if (!first || !last) throw new Error("no line was measured");
  const without = (line: LineMemory) => line.bytes - tableBytes(line.waiting);
  const each = (without(last) - without(first)) / (last.waiting - first.waiting);
  return without(first) + each * (waiting - first.waiting) + tableBytes(waiting);
}
