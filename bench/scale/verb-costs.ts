import type { Redis } from "ioredis";
import { BATCH_LIMIT } from "../../src/store/library/verb.ts";
import type { ReservedTask } from "../../src/store/line/reserve.ts";
import { mainThreadMicros } from "../harness/commandstats.ts";
import { benchId, bodyOf } from "../harness/load.ts";
import { startCallable } from "../harness/rpc.ts";
import type { BenchStore } from "../harness/store.ts";
import { itemOf, type OurScripts, openScripts, QUEUE, reservation, TAG } from "../scripts.ts";
import type { PaihaoCalls } from "../subjects/paihao.ts";
import type { CallCost } from "./cluster-model.ts";

/** So many connections call at once, as processes do: Redis reads and answers each by itself. */
const CONNECTIONS = 8;
const KEPT_MS = 30_000;

/** A connection, and the tasks that it has taken and not completed. */
interface Lane extends OurScripts {
  readonly redis: Redis;
  readonly worker: string;
  held: readonly ReservedTask[];
}

/** The calls with the numbers of tasks in them, in turns, so that as many tasks are run as were submitted. */
const ORDER = [
  ...["submit 1", "run 1", "submit 32", "run 10", "submit 100", "run 32", "submit 1000", "run 100"],
  ...["look 1", "look 32", "renew 32", "tick 1"],
] as const;

/** By "submit 32": µs of the core of Redis for each task of calls of 32, in the fastest turn: what else runs on the machine only adds. */
export type VerbCosts = ReadonlyMap<(typeof ORDER)[number], number>;

/**
 * Measures calls on a line.
 * @param waiting how many tasks wait in it
 * @param tasks how many there are in each turn, for each kind of call
 */
export async function verbCosts(
  store: BenchStore,
  { bytes, waiting, turns, tasks }: Readonly<Record<"bytes" | "waiting" | "turns" | "tasks", number>>,
): Promise<VerbCosts> {
  await store.clear();
  const filler = startCallable<PaihaoCalls>("paihao", [store.url, "ph"]);
  await filler.call("fillKnown", { count: waiting, bytes, from: 0 });
  await filler.stop();
  const input = bodyOf(bytes);
  /** The ids that wait are those between. */
  let [first, next] = [0, waiting];
  const items = (count: number) => Array.from({ length: count }, (_, n) => itemOf(benchId(next + n), input));
  const calls: Readonly<Record<string, (lane: Lane, batch: number) => Promise<unknown>>> = {
    submit({ calls }, batch) {
      const all = items(batch);
      next += batch;
      const parts = Array.from({ length: Math.ceil(batch / BATCH_LIMIT) }, (_, n) =>
        all.slice(n * BATCH_LIMIT, (n + 1) * BATCH_LIMIT),
      );
      return Promise.all(parts.map((part) => calls.submit(TAG, part)));
    },
    // With the completions of the tasks before, as a worker sends them.
    async run(lane, batch) {
      const finished = lane.held.map(lane.completion);
      lane.held = (await lane.calls.reserve(TAG, reservation(batch, lane.worker), finished)).tasks;
      first += lane.held.length;
    },
    look({ calls }, batch) {
      const anyId = () => benchId(first + Math.floor(Math.random() * (next - first)));
      return calls.inspect(
        TAG,
        Array.from({ length: batch }, () => ({ id: anyId(), result: true })),
      );
    },
    renew: ({ calls, held }, batch) =>
      calls.renew(
        TAG,
        held.slice(0, batch).map(({ id, fence }) => ({ queue: QUEUE, id, fence, leaseMs: KEPT_MS })),
      ),
    tick({ calls }) {
      const kept = { keepMs: KEPT_MS, tombstoneMs: KEPT_MS, deadMs: KEPT_MS, maxLost: 3, problem: "" };
      return calls.tick(TAG, { items: [{ queue: QUEUE, ...kept }], limit: BATCH_LIMIT, timeout: "" });
    },
  };
  const lanes = await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, n): Promise<Lane> => {
      const redis = store.redis.duplicate();
      return { ...(await openScripts(redis)), redis, worker: `bench-${n}`, held: [] };
    }),
  );
  const measured = new Map(ORDER.map((name) => [name, [] as number[]]));
  for (let turn = 0; turn <= turns; turn += 1) {
    for (const [name, all] of measured) {
      const [verb = "", batch] = name.split(" ");
      let left = tasks;
      const before = await mainThreadMicros(store.redis);
      const work = async (lane: Lane) => {
        while (left > 0) {
          left -= Number(batch);
          await calls[verb]?.(lane, Number(batch));
        }
      };
      await Promise.all(lanes.map(work));
      // The first turn is a warm-up.
      if (turn > 0) all.push(((await mainThreadMicros(store.redis)) - before) / (tasks - left));
    }
  }
  for (const { redis } of lanes) redis.disconnect();
  return new Map([...measured].map(([name, all]) => [name, Math.min(...all)]));
}

/** What a call costs and each task in it, from calls of one task and of 32. */
export function callCost(costs: VerbCosts, verb: "submit" | "run" | "look"): CallCost {
  const [one, many] = [costs.get(`${verb} 1`) ?? Number.NaN, costs.get(`${verb} 32`) ?? Number.NaN];
  const task = (32 * many - one) / 31;
  return { call: one - task, task };
}
