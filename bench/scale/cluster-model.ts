import type { Keys } from "../../src/store/keys.ts";
import { randomOf } from "../../test/shared/random.ts";
import { slotOf } from "../../test/shared/redis-cluster.ts";

/** What a call takes of the core of a master, µs: in itself, and for each task in it. */
export interface CallCost {
  readonly call: number;
  readonly task: number;
}

/** What was measured of one master, µs. */
export interface Costs {
  readonly submit: CallCost;
  /** A reservation that carries the completions of the tasks before. */
  readonly run: CallCost;
  /** A look at a waiting task and its place. */
  readonly look: CallCost;
  /** A process that hears of work in an empty line and asks for it. */
  readonly wake: number;
  /** What a process takes of all masters together each second, without any task: in itself, for each partition and for each queue. */
  readonly process: { readonly base: number; readonly partition: number; readonly queue: number };
}

/** A cluster, its load, and the assumptions about both. */
export interface Deployment {
  readonly masters: number;
  /** The master of each partition. */
  readonly masterOf: readonly number[];
  /** The partition of each queue, and its share of all tasks. */
  readonly queues: readonly { readonly partition: number; readonly share: number }[];
  /** Each accepts tasks and works on all queues. */
  readonly processes: number;
  /** How often the caller of a task looks at it. */
  readonly looks: number;
  /** Whether all workers are idle: a submission finds its line empty, and all processes ask for the task. */
  readonly idle: boolean;
  /** The tasks in each call. */
  readonly batch: number;
}

/** Calls of one kind to one master. */
interface Calls {
  readonly perSecond: number;
  readonly micros: number;
}

/** What a deployment can do. */
export interface Capacity {
  /** Of all queues together. */
  readonly tasksPerSecond: number;
  /** How busy each master is then, 0 to 1. */
  readonly busy: readonly number[];
}

/** The share of calls that may wait longer than the bound. */
const LATE = 0.01;
/** Simulated calls of a master, and how many of the first are not judged. */
const CALLS = { judged: 20_000, before: 1000 } as const;

/**
 * The most tasks a second at which, on every master, 99 % of the calls wait no longer than the bound for those before them. Masters share
 * nothing, so each is simulated by itself: calls come at random times, and its one core does one after the other.
 */
export function capacityOf(deployment: Deployment, costs: Costs, boundMs: number): Capacity {
  // The busiest is the most likely to be late.
  const holds = (rate: number) =>
    callsOf(deployment, costs, rate)
      .sort((a, b) => busyOf(b) - busyOf(a))
      .every((calls) => shareLate(calls, boundMs) <= LATE);
  let [low, high] = [0, 1];
  while (holds(high)) [low, high] = [high, 2 * high];
  while (high - low > high / 500) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return { tasksPerSecond: low, busy: callsOf(deployment, costs, low).map(busyOf) };
}

/** What each master is called for at a rate of tasks. */
function callsOf(deployment: Deployment, costs: Costs, rate: number): Calls[][] {
  const { masters, masterOf, queues, processes, looks, idle, batch } = deployment;
  const of: Calls[][] = Array.from({ length: masters }, () => []);
  const ratePerPartition = masterOf.map(() => 0);
  const queuesPerPartition = masterOf.map(() => 0);
  const inBatches = (tasks: number, { call, task }: CallCost, more = 0): Calls => ({
    perSecond: tasks / batch,
    micros: call + task * batch + more,
  });
  for (const { partition, share } of queues) {
    of[masterOf[partition] ?? 0]?.push(inBatches(rate * share, costs.run));
    ratePerPartition[partition] = (ratePerPartition[partition] ?? 0) + rate * share;
    queuesPerPartition[partition] = (queuesPerPartition[partition] ?? 0) + 1;
  }
  for (const [partition, master] of masterOf.entries()) {
    const tasks = ratePerPartition[partition] ?? 0;
    const own = costs.process.partition + costs.process.queue * (queuesPerPartition[partition] ?? 0);
    of[master]?.push(
      inBatches(tasks, costs.submit, idle ? processes * costs.wake : 0),
      inBatches(tasks * looks, costs.look),
      { perSecond: processes, micros: own },
    );
  }
  for (const calls of of) calls.push({ perSecond: processes, micros: costs.process.base / masters });
  return of.map((calls) => calls.filter(({ perSecond, micros }) => perSecond > 0 && micros > 0));
}

const busyOf = (calls: readonly Calls[]): number =>
  calls.reduce((sum, { perSecond, micros }) => sum + (perSecond * micros) / 1e6, 0);

/** The share of simulated calls that wait longer than a bound for those before them, 0 to 1; 1 if the core cannot do them all. */
export function shareLate(calls: readonly Calls[], boundMs: number): number {
  if (busyOf(calls) >= 1) return 1;
  let perSecond = 0;
  const upTo = calls.map((one) => {
    perSecond += one.perSecond;
    return perSecond;
  });
  const random = randomOf(1);
  let [waitMicros, late] = [0, 0];
  for (let n = -CALLS.before; n < CALLS.judged && perSecond > 0; n += 1) {
    if (n >= 0 && waitMicros > boundMs * 1000) late += 1;
    const { micros = 0 } = calls[indexIn(upTo, random() * perSecond)] ?? {};
    const gap = (-Math.log(1 - random()) * 1e6) / perSecond;
    waitMicros = Math.max(0, waitMicros + micros - gap);
  }
  return late / CALLS.judged;
}

/** The index of the first sum that is above a value. */
function indexIn(sums: readonly number[], value: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

const SLOTS = 16_384;

/** The master of each partition if every master has as many slots as the next, as after `redis-cli --cluster create`. */
export function placed(keys: Keys, masters: number): number[] {
  return keys.tags.map((tag) => Math.floor((slotOf(tag) * masters) / SLOTS));
}

/** The same after slots were moved until every master has as many partitions as the next. */
export function spreadEvenly(keys: Keys, masters: number): number[] {
  return keys.tags.map((_, partition) => partition % masters);
}

/** Queues in the partitions that their names lead to, and their shares. @param weightOf of the nth queue, from 0 */
export function queuesOf(keys: Keys, count: number, weightOf: (n: number) => number): Deployment["queues"] {
  const weights = Array.from({ length: count }, (_, n) => weightOf(n));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  return weights.map((weight, n) => ({ partition: keys.partitionOfQueue(`queue-${n}`), share: weight / sum }));
}
