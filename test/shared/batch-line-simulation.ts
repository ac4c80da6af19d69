import { estimate } from "../../src/engine/estimates/estimate.ts";
import type { QueueSnapshot } from "../../src/store/verbs/snapshot.ts";
import type { Eta } from "../../src/wire/task.ts";
import { type Arrivals, MEAN, ServiceStatistics, type Workload } from "./line-simulation.ts";
import { randomOf } from "./random.ts";

/** Callers get whole milliseconds, which does not matter for work of about a second. */
const MS = 100;
/** How many ages the store returns. */
const MOST_AGES = 16;

/** What a newcomer was told, and how long it waited. */
export interface BatchLook {
  readonly eta: Eta;
  readonly waitedMs: number;
}

interface Line {
  readonly workload: Workload;
  readonly arrivals: Arrivals;
  readonly slots: number;
  readonly batch: { readonly max: number; readonly waitMs: number };
  readonly tasks: number;
  readonly seed: number;
  /** How long a task waits although a call has room for it, and how far apart those of a wave arrive, ms; default 0. */
  readonly travelMs?: number;
}

interface Call {
  readonly taken: number[];
  /** When it begins, at the latest; when it ends, once it has begun. */
  beginsAt: number;
  endsAt: number | undefined;
}

/**
 * Simulates a line whose slots run several tasks in one call: a call begins when it is full or has waited long enough, and takes as long as the
 * workload says, whatever its size. Newcomers get estimates from the figures that the store would have.
 */
export function simulateBatchLine(line: Line): BatchLook[] {
  const { workload, arrivals, slots, batch, tasks, seed, travelMs = 0 } = line;
  const random = randomOf(seed);
  const statistics = new ServiceStatistics();
  const looks: BatchLook[] = [];
  const waiting: { readonly arrived: number; readonly eta: Eta | null }[] = [];
  let calls: Call[] = [];
  let [now, arrived, nextArrival, begun, taking] = [0, 0, 0, 0, Number.POSITIVE_INFINITY];

  const gathering = () => calls.find(({ endsAt, taken }) => endsAt === undefined && taken.length < batch.max);
  const begin = (call: Call) => {
    begun += 1;
    call.beginsAt = now;
    call.endsAt = now + Math.max(1, MS * workload(begun, random));
  };
  const start = ({ arrived: at, eta }: { arrived: number; eta: Eta | null }) => {
    if (eta) looks.push({ eta, waitedMs: now - at });
    let call = gathering();
    if (!call) {
      call = { taken: [], beginsAt: now + batch.waitMs, endsAt: undefined };
      calls.push(call);
    }
    call.taken.push(now);
  };
  const beginDue = () => {
    for (const call of calls) if (call.endsAt === undefined && call.beginsAt <= now) begin(call);
  };
  const takeAll = () => {
    while (waiting.length > 0 && (calls.length < slots || gathering())) {
      const next = waiting.shift();
      if (next) start(next);
      for (const call of calls) if (call.endsAt === undefined && call.taken.length === batch.max) begin(call);
    }
    beginDue();
  };
  const lookNow = (): Eta | null => {
    const { mean, variance, samples, misses, slowMean, slowMisses } = statistics;
    const taken = calls.flatMap((call) => call.taken);
    const some = taken.map((at) => ({ age: now - at, by: random() })).sort((a, b) => a.by - b.by);
    const snapshot: QueueSnapshot = {
      ...{
        queue: "many",
        waiting: waiting.length,
        scheduled: 0,
        running: taken.length,
        paused: false,
        resting: false,
      },
      ...{ workers: 1, slots, batch, meanMs: mean, variance, samples, misses: [...misses] },
      ...{ slowMeanMs: slowMean, slowMisses: [...slowMisses] },
      agesMs: taken.length < slots ? [] : some.slice(0, MOST_AGES).map(({ age }) => age),
    };
    return estimate(snapshot, { state: "waiting", index: waiting.length }, 0);
  };
  // The mean time between tasks at which the slots are always busy, if every call is full.
  const perTask = (MS * MEAN) / slots / batch.max;
  const pause = () => {
    if (arrivals === "steady") return (-Math.log(1 - random()) * perTask) / 0.95;
    const [together, load] = arrivals === "burst" ? [40 * batch.max, 1.3] : [3 * batch.max, 2 * random()];
    return arrived % together === 0 ? together * perTask * load : travelMs / 2;
  };

  for (;;) {
    const due = Math.min(taking, ...calls.map(({ endsAt, beginsAt }) => endsAt ?? beginsAt));
    const arrival = arrived < tasks ? nextArrival : Number.POSITIVE_INFINITY;
    now = Math.min(due, arrival);
    if (!Number.isFinite(now)) return looks;
    if (arrival <= due) {
      arrived += 1;
      const eta = random() < 0.3 ? lookNow() : null;
      waiting.push({ arrived: now, eta });
      nextArrival = now + pause();
    } else {
      for (const { beginsAt, endsAt } of calls)
        if (endsAt !== undefined && endsAt <= now) statistics.add(now - beginsAt);
      calls = calls.filter(({ endsAt }) => endsAt === undefined || endsAt > now);
    }
    beginDue();
    if (travelMs === 0 || now >= taking) takeAll();
    taking =
      waiting.length > 0 && (calls.length < slots || gathering())
        ? Math.min(taking, now + travelMs)
        : Number.POSITIVE_INFINITY;
  }
}
