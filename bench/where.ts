import { BODY, COMPILE_SECONDS } from "./accept.ts";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import { makeLoad } from "./harness/load.ts";
import type { PeerCalls } from "./harness/peers.ts";
import { type ServerSubject, type Subject, startPaihao } from "./harness/process.ts";
import { PLACES, type Place, Profiler } from "./harness/profile.ts";
import { startCallable } from "./harness/rpc.ts";
import { type BenchStore, withStore } from "./harness/store.ts";

/** How many tasks a turn of a worker runs, by its concurrency: enough for some seconds. */
const WORKERS: readonly (readonly [concurrency: number, tasks: number])[] = [
  [1, 60_000],
  [10, 100_000],
  [100, 150_000],
];

/** What one request or task took, µs. */
interface Spent {
  readonly what: string;
  readonly elapsed: number;
  /** Of the main thread of our process, while it does not wait. This is time, not CPU: it includes what others do on its core. */
  readonly places: ReadonlyMap<Place, number>;
  /** CPU time of all threads of our process, with that of the profiler. */
  readonly process: number;
  /** CPU time of Redis, and how long its scripts took. */
  readonly redis: number;
  readonly scripts: number;
  /** How many calls of scripts. */
  readonly calls: number;
}

/** Where the time of a request or a task goes: of our process by packages, and of Redis. */
export const where: Bench = {
  name: "where",
  title: "Where the time goes: µs for each request or task, in our process and in Redis",
  run: (options) =>
    withStore("no persistence", async (store) => {
      const profiler = new Profiler();
      try {
        const spent = [
          await ofRequests("accept", "api", { Prefer: "respond-async" }, store, profiler, options),
          await ofRequests("synchronous", "all", {}, store, profiler, options),
        ];
        for (const [concurrency, tasks] of WORKERS)
          spent.push(await ofTasks(concurrency, options.quick ? tasks / 4 : tasks, store, profiler, options));
        return { figures: [], notes: [tableOf(spent)] };
      } finally {
        profiler.end();
      }
    }),
};

async function ofRequests(
  what: string,
  role: string,
  prefer: Readonly<Record<string, string>>,
  store: BenchStore,
  profiler: Profiler,
  { quick, say }: BenchOptions,
): Promise<Spent> {
  say(what);
  await store.clear();
  const env = { REDIS_URL: store.url, ROLE: role, LOG_LEVEL: "error", MAX_WAITING: "100000000", ...profiler.env };
  const server: ServerSubject = await startPaihao(env, profiler.args);
  const headers = { "Content-Type": "application/json", ...prefer };
  const load = (seconds: number) => makeLoad({ port: server.port, seconds, headers, body: BODY, warmSeconds: 0 });
  try {
    await load(COMPILE_SECONDS);
    return await spend(what, server, store, profiler, async () => {
      const { requests, seconds } = await load(quick ? 3 : 10);
      return { count: requests, ms: seconds * 1000 };
    });
  } finally {
    await server.stop();
  }
}

async function ofTasks(
  concurrency: number,
  count: number,
  store: BenchStore,
  profiler: Profiler,
  { say }: BenchOptions,
): Promise<Spent> {
  const what = `run, concurrency ${concurrency}`;
  say(what);
  const worker = startCallable<PeerCalls>("paihao", [store.url, "ph"], profiler);
  try {
    await worker.call("fill", { count: 5000, bytes: 56 });
    await worker.call("work", { count: 5000, concurrency });
    await worker.call("fill", { count, bytes: 56 });
    return await spend(what, worker, store, profiler, async () => ({
      count,
      ms: await worker.call("work", { count, concurrency }),
    }));
  } finally {
    await worker.stop();
  }
}

/** Measures what some work takes; the work says how many requests or tasks it was, and how long it took. */
async function spend(
  what: string,
  subject: Subject,
  store: BenchStore,
  profiler: Profiler,
  work: () => Promise<{ readonly count: number; readonly ms: number }>,
): Promise<Spent> {
  const looks = async () => ({
    process: subject.cpuSeconds(),
    redis: store.cpuSeconds(),
    ...(await store.command("fcall")),
  });
  let done = { count: 0, ms: 0 };
  let [before, after] = [await looks(), await looks()];
  const times = await profiler.during(subject.pid, async () => {
    before = await looks();
    done = await work();
    after = await looks();
  });
  const each = (total: number) => total / done.count;
  return {
    ...{ what, elapsed: each(done.ms * 1000) },
    places: new Map([...times].map(([place, micros]) => [place, each(micros)])),
    process: each((after.process - before.process) * 1e6),
    redis: each((after.redis - before.redis) * 1e6),
    scripts: each(after.micros - before.micros),
    calls: each(after.calls - before.calls),
  };
}

function tableOf(spent: readonly Spent[]): string {
  const row = (name: string, of: (one: Spent) => number, digits = 1) =>
    `| ${name} | ${spent.map((one) => of(one).toFixed(digits)).join(" | ")} |`;
  return [
    `| µs | ${spent.map(({ what }) => what).join(" | ")} |`,
    `|---|${spent.map(() => "---|").join("")}`,
    row("**elapsed**", ({ elapsed }) => elapsed),
    ...PLACES.map((place) => row(place, ({ places }) => places.get(place) ?? 0)),
    row("waiting", ({ elapsed, places }) => elapsed - [...places.values()].reduce((sum, micros) => sum + micros, 0)),
    row("our process: CPU of all threads", (one) => one.process),
    row("Redis: CPU", ({ redis }) => redis),
    row("Redis: scripts", ({ scripts }) => scripts),
    row("Redis: calls of scripts", ({ calls }) => calls, 3),
  ].join("\n");
}
