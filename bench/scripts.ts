import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import type { Scripts } from "../src/store/library/scripts.ts";
import type { ReservedTask } from "../src/store/line/reserve.ts";
import type { Completion } from "../src/store/task/complete.ts";
import type { SubmitItem } from "../src/store/task/submit.ts";
import { submitItemOf } from "../test/shared/submission.ts";
import type { Bench, BenchOptions, Figure, Target } from "./harness/bench.ts";
import { built } from "./harness/built.ts";
import { commandCosts, ScriptCosts } from "./harness/commandstats.ts";
import { compare } from "./harness/judge.ts";
import { bodyOf } from "./harness/load.ts";
import type { Peer, PeerCalls } from "./harness/peers.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withStore } from "./harness/store.ts";
import { inTurns, median } from "./harness/turns.ts";
import { longestCalls } from "./longest-calls.ts";

const BATCH = 32;
export const QUEUE = "default";
export const TAG = "{ph:0}";
/** A worker's fences, leases and results: the values of a no-op task with the defaults. */
const LEASE_MS = 30_000;
const KEPT = { keepMs: 3_600_000, tombstoneMs: 86_400_000 } as const;
const RESULT = { status: 200, contentType: "application/json", headers: {}, body: '{"ok":true}' } as const;
/** Redis CPU of a task through reserve and complete, against BullMQ's. */
const TARGET = { atMost: 0.35 } as const;
/** The same of a fair line, against a plain one. */
const FAIR_TARGET = { atMost: 1.3 } as const;
/** The same of a keyed line. */
const KEYED_TARGET = { atMost: 1.5 } as const;
/** The line keys that share a fair line. */
const KEYS = 10;
/** The line keys of a keyed line: more than a batch, so that each batch is full; most tasks wait for their key. */
const KEYED_KEYS = 4 * BATCH;

/** What is measured separately: "look" inspects waiting tasks, "result" finished ones with their results. */
const PARTS = ["submit", "look", "reserve", "complete", "result"] as const;
type Part = (typeof PARTS)[number];

/** µs in Redis. */
interface Turn {
  /** CPU time of its process per task that is taken and completed. */
  readonly cpuMicros: number;
  /** Time in scripts for the same. */
  readonly scriptMicros: number;
  readonly parts: ReadonlyMap<string, ScriptCosts>;
}

/** What a task costs in Redis: by script, and within each by commands and Lua. */
export const scripts: Bench = {
  name: "scripts",
  title: `Redis for each task, batches of ${BATCH}, by script and by command`,
  run: (options) => withStore("no persistence", (store) => measure(store, options)),
};

async function measure(store: BenchStore, options: BenchOptions) {
  const bullmq = startCallable<PeerCalls>("bullmq", [String(store.port)]);
  const count = BATCH * (options.quick ? 200 : 1000);
  try {
    const ours = await openScripts(store.redis);
    const turns = await inTurns(options.pairs, {
      paihao: () => paihaoTurn(store, ours, count),
      fair: () => paihaoTurn(store, ours, count, { fair: true }),
      keyed: () => paihaoTurn(store, ours, count, { keyed: true }),
      bullmq: () => bullmqTurn(store, bullmq, count),
    });
    const figureOf = (figure: string, target: Target | null, pick: (turn: Turn) => number): Figure =>
      compare({
        figure,
        against: `BullMQ Worker, concurrency ${BATCH}`,
        store: store.mode,
        ours: turns.paihao.map(pick),
        theirs: turns.bullmq.map(pick),
        show: micros,
        target,
      });
    return {
      figures: [
        figureOf("reserve and complete, CPU of Redis per task", TARGET, (turn) => turn.cpuMicros),
        // Wall-clock time: if Redis shares its core, this includes waiting.
        figureOf("the same, time in scripts", null, (turn) => turn.scriptMicros),
        compare({
          figure: `reserve and complete in a fair line of ${KEYS} keys, CPU of Redis per task`,
          against: "a plain line",
          store: store.mode,
          ours: turns.fair.map((turn) => turn.cpuMicros),
          theirs: turns.paihao.map((turn) => turn.cpuMicros),
          show: micros,
          target: FAIR_TARGET,
        }),
        compare({
          figure: `reserve and complete in a keyed line of ${KEYED_KEYS} keys, CPU of Redis per task`,
          against: "a plain line",
          store: store.mode,
          ours: turns.keyed.map((turn) => turn.cpuMicros),
          theirs: turns.paihao.map((turn) => turn.cpuMicros),
          show: micros,
          target: KEYED_TARGET,
        }),
      ],
      notes: [
        costTable(turns.paihao, turns.bullmq, count),
        ...callTables(turns.paihao, turns.bullmq, count),
        await longestCalls(store),
      ],
    };
  } finally {
    await bullmq.stop();
  }
}

export interface OurScripts {
  readonly calls: Scripts;
  readonly completion: (task: ReservedTask) => Completion;
}

/** @param sharded whether it is a connection to a node of a cluster */
export async function openScripts(redis: Redis, sharded = false): Promise<OurScripts> {
  const { scriptsOf } = await built<typeof import("../src/store/library/scripts.ts")>("store/library/scripts.js");
  const { encodeResult } = await built<typeof import("../src/store/task/record.ts")>("store/task/record.js");
  const completion = ({ id, fence }: ReservedTask) => ({
    queue: QUEUE,
    id,
    fence,
    result: encodeResult(RESULT),
    ...KEPT,
  });
  return { calls: scriptsOf(redis, { sharded }), completion };
}

export function itemOf(id: string, input: string): SubmitItem {
  return submitItemOf({ id, queue: QUEUE, input, limit: 1e9 });
}

export function reservation(count: number, worker = "bench") {
  return { queue: QUEUE, worker, reservation: randomUUID(), count, leaseMs: LEASE_MS, rate: undefined };
}

async function paihaoTurn(
  store: BenchStore,
  { calls, completion }: OurScripts,
  count: number,
  { fair = false, keyed = false } = {},
): Promise<Turn> {
  await store.clear();
  const parts = new Map<Part, ScriptCosts>(PARTS.map((part) => [part, new ScriptCosts()]));
  const counted = async <T>(part: Part, work: Promise<T>): Promise<T> => {
    const result = await work;
    const now = await commandCosts(store.redis);
    parts.get(part)?.add(seen, now);
    seen = now;
    return result;
  };
  let submitted = 0;
  const keyOf = () => {
    submitted += 1;
    return `1 =key${submitted % KEYED_KEYS}`;
  };
  const submitBatch = (ids: readonly string[]) =>
    calls.submit(
      TAG,
      ids.map((id, n) => ({
        ...itemOf(id, bodyOf(56)),
        ...(fair && { share: `1 =key${n % KEYS}` }),
        ...(keyed && { key: keyOf() }),
      })),
    );
  const inBatches = async (work: (ids: readonly string[]) => Promise<unknown>) => {
    for (let n = 0; n < count; n += BATCH) await work(Array.from({ length: BATCH }, () => randomUUID()));
  };

  let seen = await commandCosts(store.redis);
  await inBatches(async (ids) => {
    await counted("submit", submitBatch(ids));
    await counted(
      "look",
      calls.inspect(
        TAG,
        ids.map((id) => ({ id, result: true })),
      ),
    );
  });
  // In turns, so that as many leases are held as a worker has.
  await inBatches(async () => {
    const { tasks } = await counted("reserve", calls.reserve(TAG, reservation(BATCH)));
    await counted("complete", calls.complete(TAG, tasks.map(completion)));
    await counted(
      "result",
      calls.inspect(
        TAG,
        tasks.map(({ id }) => ({ id, result: true })),
      ),
    );
  });

  // Without inspecting tasks between the calls, and with the completions of one batch in the reservation of the next, as a
  // worker sends them.
  await store.clear();
  await inBatches(submitBatch);
  const began = store.cpuSeconds();
  let finished: Completion[] = [];
  await inBatches(async () => {
    const { tasks } = await calls.reserve(TAG, reservation(BATCH), finished);
    finished = tasks.map(completion);
  });
  await calls.complete(TAG, finished);
  const cpuMicros = ((store.cpuSeconds() - began) / count) * 1e6;
  const sum = (parts.get("reserve")?.scriptMicros ?? 0) + (parts.get("complete")?.scriptMicros ?? 0);
  return { cpuMicros, scriptMicros: sum / count, parts };
}

async function bullmqTurn(store: BenchStore, bullmq: Peer, count: number): Promise<Turn> {
  await store.clear();
  const [add, work] = [new ScriptCosts(), new ScriptCosts()];
  const before = await commandCosts(store.redis);
  await bullmq.call("fill", { count, bytes: 56 });
  const filled = await commandCosts(store.redis);
  add.add(before, filled);
  const began = store.cpuSeconds();
  await bullmq.call("work", { count, concurrency: BATCH });
  const cpuMicros = ((store.cpuSeconds() - began) / count) * 1e6;
  work.add(filled, await commandCosts(store.redis));
  const parts = new Map([
    ["BullMQ: add", add],
    ["BullMQ: moveToActive and moveToFinished", work],
  ]);
  return { cpuMicros, scriptMicros: work.scriptMicros / count, parts };
}

const micros = (value: number): string => `${value.toFixed(1)} µs`;

/** Every part of both, with the costs of all turns. */
function partsOf(...peers: readonly (readonly Turn[])[]): [string, ScriptCosts[]][] {
  return peers.flatMap((turns) =>
    [...(turns[0]?.parts.keys() ?? [])].map((part): [string, ScriptCosts[]] => [
      part,
      turns.flatMap((turn) => turn.parts.get(part) ?? []),
    ]),
  );
}

function costTable(ours: readonly Turn[], theirs: readonly Turn[], count: number): string {
  const rows = partsOf(ours, theirs).map(([part, costs]) => {
    const shown = (pick: (cost: ScriptCosts) => number) => (median(costs.map(pick)) / count).toFixed(2);
    return `| ${part} | ${shown((c) => c.scriptMicros)} | ${shown((c) => c.commandMicros)} | ${shown((c) => c.luaMicros)} |`;
  });
  return ["| µs of Redis per task | in scripts | commands | Lua |", "|---|---|---|---|", ...rows].join("\n");
}

function callTables(ours: readonly Turn[], theirs: readonly Turn[], count: number): string[] {
  return partsOf(ours, theirs).map(([part, costs]) => {
    const calls = (costs.at(-1)?.commands ?? [])
      .filter((command) => command.calls / count >= 0.005)
      .map(({ name, calls, micros }) => `${(calls / count).toFixed(2)} ${name} (${(micros / count).toFixed(2)} µs)`);
    return `${part}: ${calls.join(", ")}`;
  });
}
