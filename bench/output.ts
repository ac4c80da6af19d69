import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Lease } from "../src/store/verbs/scripts.ts";
import { submissionOf } from "../test/shared/submission.ts";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { type BuiltEngine, openBuiltEngine } from "./harness/built.ts";
import { bodyOf } from "./harness/load.ts";
import { forkSubject, type ServerSubject, startPaihao, track } from "./harness/process.ts";
import { type BenchStore, withStore } from "./harness/store.ts";
import type { FollowPlan } from "./subjects/followers.ts";

const QUEUE = "default";
const LEASE_MS = 3_600_000;
const FOLLOWERS = { full: 10_000, quick: 1000 } as const;
/** The number of values that each follower gets, and the bytes of each. */
const VALUES = 20;
const VALUE_BYTES = 100;
const WRITES = { full: 20_000, quick: 2000 } as const;
/** The number of values in a call if several are written in one turn. */
const TOGETHER = 50;
const WRITE_OPTIONS = { maxBytes: 100_000_000 } as const;
/** The maximum cost of a follower for the server, bytes; most of it is Node's connection. */
const FOLLOWER_BYTES = 64 * 1024;
/** The maximum cost for Redis: the name of its process in the record of the task. */
const FOLLOWER_REDIS_BYTES = 256;

/** What it costs to write output, and to follow it over HTTP: ten thousand followers of one task, and of ten thousand tasks. */
export const output: Bench = {
  name: "output",
  title: "Output: writing, and ten thousand followers over HTTP of one task and of as many tasks",
  run: (options) =>
    withStore("no persistence", async (store) => {
      const built = await openBuiltEngine(store.url, "ph", [{ queue: QUEUE, concurrency: 1, run: () => undefined }]);
      try {
        const figures = [
          ...(await writing(built, store, options)),
          ...(await following(built, store, options, "one task")),
          ...(await following(built, store, options, "as many tasks")),
        ];
        return { figures, raw: figures };
      } finally {
        built.close();
      }
    }),
};

const common = { against: "–", store: "no persistence", theirs: "" } as const;

/** Tasks that are running. */
async function running({ engine }: BuiltEngine, count: number): Promise<Lease[]> {
  const leases: Lease[] = [];
  const settings = engine.queues.settings(QUEUE);
  const ids = Array.from({ length: count }, (_, n) => `output-${n}`);
  await Promise.all(ids.map((id) => engine.tasks.submit(submissionOf(id, QUEUE, "null"), settings)));
  while (leases.length < count) {
    const request = { queue: QUEUE, worker: "bench", reservation: String(leases.length), leaseMs: LEASE_MS };
    const { tasks } = await engine.leases.reserve(0, { ...request, count: Math.min(100, count), rate: undefined });
    leases.push(...tasks.map(({ id, fence }) => ({ queue: QUEUE, id, fence })));
  }
  return leases;
}

async function writing(built: BuiltEngine, store: BenchStore, { quick }: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const together of [1, TOGETHER]) {
    await store.clear();
    const [lease] = await running(built, 1);
    if (!lease) throw new Error("no task is running");
    const values = Array.from({ length: together }, () => bodyOf(VALUE_BYTES));
    const count = quick ? WRITES.quick : WRITES.full;
    const before = { store: store.cpuSeconds(), ours: process.cpuUsage() };
    for (let n = 0; n < count; n += together) await built.engine.outputs.write(lease, values, WRITE_OPTIONS);
    const { user, system } = process.cpuUsage(before.ours);
    figures.push({
      ...common,
      figure: `a value of ${VALUE_BYTES} B written, ${together === 1 ? "alone" : `${together} in a turn`}: CPU of Redis`,
      ours: `and ${((user + system) / count).toFixed(1)} µs of the worker`,
      ...{ value: ((store.cpuSeconds() - before.store) / count) * 1e6, unit: "µs", target: null },
    });
  }
  return figures;
}

async function following(
  built: BuiltEngine,
  store: BenchStore,
  { quick, say }: BenchOptions,
  what: "one task" | "as many tasks",
): Promise<Figure[]> {
  await store.clear();
  const count = quick ? FOLLOWERS.quick : FOLLOWERS.full;
  const limits = { MAX_STREAMS: String(2 * count), MAX_CONNECTIONS: String(2 * count) };
  const server = await startPaihao({ REDIS_URL: store.url, ROLE: "api", ...limits });
  const child = forkSubject("followers");
  const followers = track(child);
  try {
    const leases = await running(built, what === "one task" ? 1 : count);
    const ids = Array.from({ length: count }, (_, n) => leases[n % leases.length]?.id ?? "");
    const idle = { bytes: memoryOf(server).now, store: await store.usedMemory() };
    child.send({ port: server.port, ids, values: VALUES } satisfies FollowPlan);
    await told(child, "open");
    const open = { bytes: memoryOf(server).now, store: await store.usedMemory(), cpu: server.cpuSeconds() };
    say(`${count} followers of ${what}: ${Math.round((open.bytes - idle.bytes) / count / 1024)} KiB each`);
    const began = performance.now();
    const all = told(child, "all");
    for (let n = 0; n < VALUES; n += 1) {
      const value = [bodyOf(VALUE_BYTES)];
      await Promise.all(leases.map((lease) => built.engine.outputs.write(lease, value, WRITE_OPTIONS)));
    }
    const writtenMs = performance.now() - began;
    await all;
    const ms = performance.now() - began;
    const delivered = count * VALUES;
    const peak = memoryOf(server).peak - idle.bytes;
    const name = `${count.toLocaleString("en")} followers of ${what}`;
    const kept = (await store.usedMemory()) - open.store;
    return [
      {
        ...common,
        figure: `${name}: memory of the server for each, at its peak`,
        ours: `${Math.round((open.bytes - idle.bytes) / count)} B when all were there`,
        ...{ value: peak / count, unit: "B", target: { atMost: FOLLOWER_BYTES } },
      },
      {
        ...common,
        figure: `${name}: CPU of the server for each value of each`,
        ours: `${delivered.toLocaleString("en")} values in ${Math.round(ms)} ms, written in ${Math.round(writtenMs)} ms`,
        ...{ value: ((server.cpuSeconds() - open.cpu) / delivered) * 1e6, unit: "µs", target: null },
      },
      {
        ...common,
        figure: `${name}: bytes in Redis for each follower`,
        ours: "",
        ...{ value: (open.store - idle.store) / count, unit: "B", target: { atMost: FOLLOWER_REDIS_BYTES } },
      },
      // The values of one task are too few to distinguish from Redis's own buffers.
      ...(leases.length === 1 ? [] : [bytesOfValues(name, kept / (leases.length * VALUES))]),
    ];
  } finally {
    await followers.stop();
    await server.stop();
  }
}

function bytesOfValues(name: string, value: number): Figure {
  const figure = `${name}: bytes in Redis for each value of ${VALUE_BYTES} B`;
  return { ...common, figure, ours: "", value, unit: "B", target: { atMost: 2 * VALUE_BYTES } };
}

/** Resident memory of a process, now and at its highest, bytes. */
function memoryOf({ pid }: ServerSubject): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}

/** Resolves when the followers report this. */
async function told(child: ReturnType<typeof forkSubject>, word: string): Promise<void> {
  const ended = once(child, "exit").then(() => {
    throw new Error("the followers ended before all values had arrived");
  });
  const heard = new Promise<void>((resolve) => {
    child.on("message", (message) => {
      if (message === word) resolve();
    });
  });
  await Promise.race([heard, ended]);
}
