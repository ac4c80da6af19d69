import { newestRecorded } from "./record.ts";

/** The load of a deployment. Sizes in bytes, times in ms. */
export interface Demand {
  /** Tasks per second, on average over the time that results are kept. */
  readonly tasksPerSecond: number;
  readonly inputBytes: number;
  readonly resultBytes: number;
  /** How long a handler takes. */
  readonly serviceMs: number;
  /** Tasks that wait at the worst moment. */
  readonly waiting: number;
  readonly resultTtlMs: number;
  readonly tombstoneTtlMs: number;
  /** Slots of a worker process. */
  readonly concurrency: number;
}

/** What the load needs. */
export interface Capacity {
  readonly waitingBytes: number;
  readonly resultsBytes: number;
  readonly tombstonesBytes: number;
  readonly totalBytes: number;
  /** The share of one core, 0–1 and above. */
  readonly redisCore: number;
  readonly apiCore: number;
  /** Tasks per second at which Redis uses as much of its core as it should. */
  readonly maxPerSecond: number;
  readonly slots: number;
  readonly workers: number;
}

/** The measurements behind it: bytes of a task, and CPU at several loads. */
export interface Costs {
  readonly date: string;
  readonly waiting: readonly { readonly inputBytes: number; readonly bytes: number }[];
  readonly finished: { readonly inputBytes: number; readonly resultBytes: number; readonly bytes: number };
  /** In ascending order, from no load. */
  readonly levels: readonly LoadLevel[];
}

/** What a load costs: shares of a core, 0–1. */
export interface LoadLevel {
  /** Tasks a second. */
  readonly perSecond: number;
  readonly redisCore: number;
  readonly apiCore: number;
  readonly workerCore: number;
}

/** The largest step between size classes of Redis's allocator: a value longer than measured may take this much more. */
const ALLOCATOR = 1.25;
/** Results of up to this size are in the record of their task, and may stay in it until its end. */
const INLINE_BYTES = 256;
/** The share of a core, and of the slots, that is used on average: the rest is for bursts. */
export const USED = { core: 0.7, slots: 0.8 } as const;
/** What Redis needs besides data: buffers, fragmentation, pages that are copied while it writes a snapshot. */
export const MEMORY_MARGIN = 1.5;

/** Reads the newest measurements. */
export function readCosts(): Costs {
  const figuresOf = (bench: string) => {
    const recorded = newestRecorded(bench);
    if (!recorded) throw new Error(`no measurement yet: npm run bench -- ${bench}`);
    return recorded;
  };
  const memory = figuresOf("memory");
  const sizes = memory.figures.map(({ figure, ours }) => ({
    sizes: [...figure.matchAll(/(\d+) B/g)].map(([, bytes]) => Number(bytes)),
    bytes: Number(/[\d,]+/.exec(ours)?.[0].replaceAll(",", "")),
  }));
  const finished = sizes.find((one) => one.sizes.length === 2);
  if (!finished) throw new Error("the measurement of memory has no finished task");
  return {
    date: memory.machine.date.slice(0, 10),
    waiting: sizes
      .filter((one) => one.sizes.length === 1)
      .map(({ sizes: [inputBytes = 0], bytes }) => ({ inputBytes, bytes })),
    finished: { inputBytes: finished.sizes[0] ?? 0, resultBytes: finished.sizes[1] ?? 0, bytes: finished.bytes },
    levels: (figuresOf("levels").raw as { readonly levels: readonly LoadLevel[] }).levels,
  };
}

/** What a load needs at these costs. */
export function capacityOf(demand: Demand, costs: Costs): Capacity {
  const { tasksPerSecond, inputBytes, resultBytes, serviceMs } = demand;
  const running = (tasksPerSecond * serviceMs) / 1000;
  const kept = (tasksPerSecond * demand.resultTtlMs) / 1000;
  const remembered = (tasksPerSecond * demand.tombstoneTtlMs) / 1000;
  const waitingBytes = (demand.waiting + running) * waitingTask(inputBytes, costs);
  const resultsBytes = kept * finishedTask(resultBytes, costs);
  const tombstonesBytes = remembered * finishedTask(Math.min(resultBytes, INLINE_BYTES), costs);
  const slots = Math.max(1, Math.ceil(running / USED.slots));
  return {
    waitingBytes,
    resultsBytes,
    tombstonesBytes,
    totalBytes: waitingBytes + resultsBytes + tombstonesBytes,
    redisCore: coreAt(tasksPerSecond, "redisCore", costs),
    apiCore: coreAt(tasksPerSecond, "apiCore", costs),
    maxPerSecond: maxAt(USED.core, costs),
    slots,
    workers: Math.ceil(slots / demand.concurrency),
  };
}

/** Linear between two measured loads; beyond the largest, the same cost per task as there. */
function coreAt(perSecond: number, core: "redisCore" | "apiCore", { levels }: Costs): number {
  const above = levels.findIndex((level) => level.perSecond >= perSecond);
  const [less, more] = [levels[above - 1], levels[above]];
  const last = levels.at(-1);
  if (!last) throw new Error("no load was measured");
  if (!more) return (perSecond * last[core]) / last.perSecond;
  if (!less) return more[core];
  return less[core] + ((perSecond - less.perSecond) / (more.perSecond - less.perSecond)) * (more[core] - less[core]);
}

/** The inverse: tasks per second at which Redis uses this share of its core. */
function maxAt(core: number, costs: Costs): number {
  const last = costs.levels.at(-1);
  if (!last) throw new Error("no load was measured");
  let [min, max] = [0, Math.max(last.perSecond, (core * last.perSecond) / last.redisCore)];
  for (let n = 0; n < 50; n += 1) {
    const middle = (min + max) / 2;
    if (coreAt(middle, "redisCore", costs) <= core) min = middle;
    else max = middle;
  }
  return min;
}

/** Linear between two measured sizes; beyond them, the difference plus what the allocator may add. */
function waitingTask(inputBytes: number, { waiting }: Costs): number {
  const sorted = [...waiting].sort((a, b) => a.inputBytes - b.inputBytes);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (!min || !max) throw new Error("no waiting task was measured");
  if (inputBytes <= min.inputBytes) return min.bytes;
  if (inputBytes >= max.inputBytes) return max.bytes + (inputBytes - max.inputBytes) * ALLOCATOR;
  const share = (inputBytes - min.inputBytes) / (max.inputBytes - min.inputBytes);
  return min.bytes + share * (max.bytes - min.bytes);
}

function finishedTask(resultBytes: number, { finished }: Costs): number {
  return finished.bytes + Math.max(0, resultBytes - finished.resultBytes) * ALLOCATOR;
}
