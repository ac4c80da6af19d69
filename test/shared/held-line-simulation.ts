import { estimate } from "../../src/engine/estimates/estimate.ts";
import type { KeyTurn, LineRate, Pace, QueueSnapshot } from "../../src/store/line/snapshot.ts";
import type { Eta } from "../../src/wire/task.ts";
import { MEAN, normal, ServiceWindow, type Workload } from "./line-simulation.ts";
import { randomOf } from "./random.ts";

/** Ms of one unit of a workload. */
const MS = 100;
/** How many ages, and how many starts of a rate, the store returns. */
const MOST = 16;

/** What was told of a task that waits, and how long it waited from then on. */
export interface HeldLook {
  readonly eta: Eta;
  readonly waitedMs: number;
}

/** What holds a line besides its slots. */
export interface Holders {
  readonly rate?: { readonly max: number; readonly perMs: number };
  /** How many tasks of one key run at once, of how many keys, and which share of all tasks has the first of them besides. */
  readonly keyed?: { readonly limit: number; readonly keys: number; readonly flood?: number };
  /** Whether tasks report their progress, about evenly. */
  readonly reports?: boolean;
  /** How many tasks one call of a slot takes. */
  readonly batch?: number;
  /** After how long the first worker comes, ms, by what its handler declares; 0 for a worker from the beginning. */
  readonly startMs?: number;
}

interface Line extends Holders {
  readonly workload: Workload;
  readonly slots: number;
  /** How many tasks arrive at once, and in how many waves. */
  readonly wave: number;
  readonly waves: number;
  readonly seed: number;
  /** Whether only what is told before the first task has ended counts. */
  readonly fresh?: boolean;
}

interface Waiting {
  readonly key: number;
  readonly looks: { readonly eta: Eta; readonly at: number }[];
}

interface Call {
  readonly began: number;
  readonly ends: number;
  readonly keys: readonly number[];
  /** How evenly it reports: its progress is the share of its time, to this power. */
  readonly bend: number;
  reported: Pace | null;
}

/** Simulates a line with one or more holders; each task is looked at when it arrives, and some now and then. */
export function simulateHeldLine(line: Line): HeldLook[] {
  const { workload, slots, rate, keyed, batch, wave, waves, seed, startMs = 0 } = line;
  const random = randomOf(seed);
  const window = new ServiceWindow();
  const looks: HeldLook[] = [];
  const starts: number[] = [];
  let waiting: Waiting[] = [];
  let calls: Call[] = [];
  let [now, arrived, begun, lagged] = [0, 0, 0, 0];
  const perWave = (wave * MS * MEAN) / slots / (batch ?? 1);
  const waveMs = Math.max(perWave, rate ? (wave * rate.perMs) / rate.max : 0) * 1.1;
  // A task is not started as soon as the rate allows it, but when the worker has noticed.
  const lag = () => -4 * Math.log(1 - random());

  const runningOf = (key: number) => calls.reduce((sum, { keys }) => sum + keys.filter((one) => one === key).length, 0);
  const startableNow = (): Waiting[] => {
    if (!keyed) return waiting;
    const left = new Map<number, number>();
    return waiting.filter(({ key }) => {
      const room = left.get(key) ?? keyed.limit - runningOf(key);
      left.set(key, room - 1);
      return room > 0;
    });
  };
  /** When the rate allows the next start. */
  const allowedAt = () =>
    rate && starts.length >= rate.max ? (starts[starts.length - rate.max] ?? 0) + rate.perMs : 0;

  const take = () => {
    while (now >= startMs && calls.length < slots && startableNow().length > 0) {
      if (allowedAt() > now) return;
      const room = rate ? starts.filter((at) => at > now - rate.perMs).length : 0;
      const some = startableNow().slice(0, Math.min(batch ?? 1, rate ? rate.max - room : Infinity));
      if (some.length === 0) return;
      waiting = waiting.filter((one) => !some.includes(one));
      for (const { looks: told } of some) {
        starts.push(now);
        for (const { eta, at } of told) looks.push({ eta, waitedMs: now - at });
      }
      begun += 1;
      const ends = now + Math.max(1, MS * workload(begun, random));
      const bend = Math.exp(0.25 * normal(random));
      calls.push({ began: now, ends, keys: some.map(({ key }) => key), bend, reported: null });
    }
  };

  const turnOf = (index: number, startable: readonly Waiting[]): KeyTurn | null => {
    const task = waiting[index];
    if (!keyed || !task) return null;
    const earlier = waiting.slice(0, index).filter(({ key }) => key === task.key).length + runningOf(task.key);
    const before = startable.filter((one) => waiting.indexOf(one) < index).length;
    return { before, ends: Math.max(0, earlier - keyed.limit + 1), limit: keyed.limit };
  };

  /** By eight of the waiting tasks. */
  const mostFrequent = () => {
    const counts = new Map<number, number>();
    const some = waiting.map(({ key }) => ({ key, by: random() })).sort((a, b) => a.by - b.by);
    for (const { key } of some.slice(0, 8)) counts.set(key, (counts.get(key) ?? 0) + 1);
    return some.length < 8 ? 0 : Math.max(...counts.values()) / 8;
  };

  const rateNow = (): LineRate | undefined => {
    if (!rate) return undefined;
    const latest = starts.slice(-rate.max).reverse();
    const step = Math.max(1, (latest.length - 1) / (MOST - 1));
    const nths = [...new Set(Array.from({ length: MOST }, (_, n) => Math.round(n * step)))];
    const known = nths.flatMap((nth) => (latest[nth] === undefined ? [] : [{ nth, ageMs: now - latest[nth] }]));
    return { ...rate, starts: known.filter(({ ageMs }) => ageMs < rate.perMs) };
  };

  const look = (index: number) => {
    const task = waiting[index];
    if (!task || (line.fresh && window.samples > 0)) return;
    const startable = startableNow();
    const tasks = calls.flatMap((call) => call.keys.map(() => call));
    const live = now >= startMs;
    const isBusy = live && tasks.length > 0 && (keyed !== undefined || tasks.length >= slots);
    const some = isBusy
      ? tasks
          .map((call) => ({ call, by: random() }))
          .sort((a, b) => a.by - b.by)
          .slice(0, MOST)
      : [];
    const rateKnown = rateNow();
    const snapshot: QueueSnapshot = {
      ...{ queue: "held", waiting: waiting.length, scheduled: 0, running: tasks.length, paused: false },
      ...{ resting: false, workers: live ? 1 : 0, slots: live ? slots : 0, samples: window.samples },
      timesMs: window.timesMs,
      agesMs: some.map(({ call }) => now - call.began),
      ...(keyed && { startable: startable.length, mostFrequent: mostFrequent() }),
      ...(rateKnown && { rate: rateKnown }),
      ...(batch && { batch: { max: batch, waitMs: 0 } }),
      ...(some.some(({ call }) => call.reported) && { reports: some.map(({ call }) => call.reported) }),
      ...(!live && {
        starting: { elapsedMs: now, declaredMs: startMs, meanMs: 0, variance: 0, samples: 0, slots },
      }),
    };
    const eta = estimate(snapshot, { state: "waiting", index, turn: turnOf(index, startable) }, 0);
    if (eta) task.looks.push({ eta, at: now });
  };

  const report = () => {
    for (const call of calls) {
      const share = ((now - call.began) / (call.ends - call.began)) ** call.bend;
      if (share > 0) call.reported = { percent: 100 * share, totalMs: (now - call.began) / share };
    }
  };

  while (arrived < waves * wave || waiting.length > 0 || calls.length > 0) {
    const end = Math.min(...calls.map(({ ends }) => ends));
    const arrival =
      arrived < waves * wave
        ? Math.floor(arrived / wave) * waveMs + (arrived > 0 ? startMs : 0)
        : Number.POSITIVE_INFINITY;
    let permit = Number.POSITIVE_INFINITY;
    if (now < startMs) permit = startMs;
    else if (allowedAt() > now && calls.length < slots && startableNow().length > 0) {
      if (lagged < allowedAt()) lagged = allowedAt() + lag();
      permit = lagged;
    }
    const next = Math.min(end, arrival, permit);
    if (waiting.length > 0 && random() < 0.3 && Number.isFinite(next)) {
      now += (Math.max(now, next) - now) * random();
      if (line.reports) report();
      look(Math.floor(random() * waiting.length));
    }
    now = Math.max(now, next);
    if (arrival === next) {
      for (let n = 0; n < wave; n += 1) {
        waiting.push({
          key: keyed && random() >= (keyed.flood ?? 0) ? Math.floor(random() * keyed.keys) : 0,
          looks: [],
        });
        if (random() < 0.3) look(waiting.length - 1);
      }
      arrived += wave;
    }
    for (const { ends, began } of calls) if (ends <= now) window.add(ends - began);
    calls = calls.filter(({ ends }) => ends > now);
    take();
  }
  return looks;
}
