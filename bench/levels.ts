import { setTimeout as delay } from "node:timers/promises";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import type { LoadLevel } from "./harness/capacity.ts";
import { bodyOf, type LoadPlan, makeLoad } from "./harness/load.ts";
import { type ServerSubject, startPaihao } from "./harness/process.ts";
import { type BenchStore, withStore } from "./harness/store.ts";

/** Shares of the maximum load. */
const SHARES = [0.1, 0.5] as const;
/** After this long without work a process polls less often, ms. */
const SETTLED_MS = 15_000;
/** Synchronous: one request submits a task and gets its result. */
const PLAN = { headers: { "Content-Type": "application/json" }, body: bodyOf(56), connections: 64 } as const;

/**
 * What tasks cost at several loads, since under a higher load more of them share a call. One API process and one worker, whose
 * handler does nothing.
 */
export const levels: Bench = {
  name: "levels",
  title:
    "CPU without load, and at a tenth, half and all of what one API process and one worker can do: synchronous requests",
  run: (options) => withStore("AOF everysec", (store) => measure(store, options)),
};

async function measure(store: BenchStore, options: BenchOptions) {
  const seconds = options.quick ? 5 : 20;
  const common = { REDIS_URL: store.url, LOG_LEVEL: "error", CONCURRENCY: "64" };
  const api = await startPaihao({ ...common, ROLE: "api" });
  const worker = await startPaihao({ ...common, ROLE: "worker" });
  try {
    const level = async (name: string, work: () => Promise<number>): Promise<LoadLevel> => {
      options.say(name);
      const subjects = { redis: store, api, worker };
      const before = cpuOf(subjects);
      const begun = performance.now();
      const done = await work();
      const took = (performance.now() - begun) / 1000;
      const after = cpuOf(subjects);
      const share = (of: keyof typeof before) => (after[of] - before[of]) / took;
      return { perSecond: done / took, redisCore: share("redis"), apiCore: share("api"), workerCore: share("worker") };
    };
    const load = async (plan: Partial<LoadPlan> = {}, forSeconds: number = seconds) => {
      const made = await makeLoad({ ...PLAN, port: api.port, seconds: forSeconds, ...plan });
      if (made.statuses["200"] !== made.requests) throw new Error(`not all done: ${JSON.stringify(made.statuses)}`);
      return made.sent;
    };
    // Until then it compiles its code.
    await load({}, 4);
    const all = await level("all", load);
    const parts: LoadLevel[] = [];
    for (const share of SHARES) {
      parts.push(await level(`${share} of it`, () => load({ rate: Math.round(all.perSecond * share) })));
    }
    await delay(SETTLED_MS);
    const none = await level("none", () => delay(2 * seconds * 1000, 0));
    const found = [none, ...parts, all];
    return {
      figures: found.slice(1).map(({ perSecond, redisCore, apiCore, workerCore }) => {
        const micros = (core: number) => `${((core / perSecond) * 1e6).toFixed(0)} µs`;
        return {
          figure: `CPU of Redis per task, at ${perSecond.toFixed(0)} per second`,
          ours: `API ${micros(apiCore)}, worker ${micros(workerCore)}`,
          ...{ against: "–", theirs: "", store: store.mode, value: (redisCore / perSecond) * 1e6 },
          ...({ unit: "µs", target: null } as const),
        };
      }),
      notes: [
        `Without load: ${(none.redisCore * 100).toFixed(2)} % of a core in Redis, ${(none.apiCore * 100).toFixed(2)} % in the API.`,
      ],
      raw: { levels: found },
    };
  } finally {
    await Promise.all([api.stop(), worker.stop()]);
  }
}

function cpuOf(subjects: Readonly<Record<"redis" | "api" | "worker", Pick<ServerSubject, "cpuSeconds">>>) {
  const { redis, api, worker } = subjects;
  return { redis: redis.cpuSeconds(), api: api.cpuSeconds(), worker: worker.cpuSeconds() };
}
