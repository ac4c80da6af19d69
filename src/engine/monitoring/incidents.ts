import type { Sample } from "../../store/line/history.ts";
import type { QueueRow } from "../../store/line/queue.ts";
import type { Incident } from "../../wire/operations.ts";
import { about, allowed, count, counted, duration, rate } from "../../words/numbers.ts";

/** Something that is wrong, before it is known since when. */
export type Fault = Omit<Incident, "since">;

/** A queue, and how it was before. */
export interface QueueState {
  readonly row: QueueRow;
  readonly isOrphaned: boolean;
  readonly maxWaiting: number;
  /** The rate that holds a new task back; null if none does. */
  readonly heldBy: { readonly max: number; readonly per: string } | null;
  readonly past: Past | null;
  /** How many waited a minute ago, if the line has grown all the time since. */
  readonly grownFrom: number | null;
}

/** How a queue did some time ago, within the last hour. */
interface Past {
  readonly agoMs: number;
  /** The median service time. */
  readonly serviceMs: number;
  /** Which share of the tasks that ended had failed. */
  readonly failedShare: number;
}

/** A handler is slow from this factor on, if it takes at least this long, ms. */
const SLOW = { factor: 5, ms: 200 };
/** So many of the latest service times say how long a task takes now. */
const LATEST = 5;
/** Tasks fail from this share on, if so many failed in the last minute, and if it is so many times the share of before. */
const FAILING = { share: 0.2, count: 5, factor: 2 };
/** A line has grown by at least so many tasks, and by this share of what waits. */
const GROWN = { count: 10, share: 0.1 };

/** What is wrong with a queue, the worst first: what explains the rest is told alone. */
export function faultsOf(state: QueueState): Fault[] {
  const faults = [lineFault(state), failing(state), slow(state), webhooksRetrying(state), dead(state)];
  return faults.filter((fault) => fault !== null);
}

/** Why tasks of its line do not start. */
function lineFault(state: QueueState): Fault | null {
  const { row, isOrphaned, maxWaiting, heldBy, grownFrom } = state;
  const { queue, waiting, scheduled, workers, paused } = row.snapshot;
  const inLine = { queue, list: "waiting" } as const;
  const oldest = row.oldestWaitingMs === null ? "" : `, the oldest for ${duration(row.oldestWaitingMs / 1000)}`;
  if (isOrphaned)
    return {
      ...{ ...inLine, kind: "no-handler", level: "red", runbook: "PaihaoQueueOrphaned" },
      text: `${queue}: ${count(waiting)} waiting, and no process has its handler${oldest}`,
      advice: "Start a worker that has the handler, or cancel its tasks.",
    };
  if (waiting + scheduled >= maxWaiting)
    return {
      ...{ ...inLine, kind: "queue-full", level: "red", runbook: "PaihaoLineGrowing" },
      text: `${queue}: full with ${counted(maxWaiting, "task")}; more are refused`,
      advice: "Add workers or slots; MAX_WAITING is how many may wait.",
    };
  if (paused)
    return {
      ...{ ...inLine, kind: "paused", level: "amber", runbook: "PaihaoQueuePausedLong" },
      text: `${queue}: paused, ${count(waiting)} waiting${oldest}`,
      advice: `To continue: paihao resume ${queue}`,
    };
  if (row.rest)
    return {
      ...{ ...inLine, kind: "target-down", level: "red", runbook: "PaihaoQueueResting" },
      text: `${queue}: its API is down (${row.rest.reason}), ${count(waiting)} waiting`,
      advice: "Bring the API back: tasks keep their places, and start by themselves.",
    };
  if (workers === 0 && row.longestTurnMs === null && waiting > 0)
    return {
      ...{ ...inLine, kind: "no-workers", level: "red", runbook: "PaihaoNoWorkers" },
      text: `${queue}: ${count(waiting)} waiting, no worker${oldest}`,
      advice: "Start workers that have its handler.",
    };
  if (heldBy && waiting > 0)
    return {
      ...{ ...inLine, kind: "rate", level: "amber", runbook: "PaihaoOldestWaitHigh" },
      text: `${queue}: ${count(waiting)} waiting, ${allowed(heldBy)} allowed`,
      advice: `paihao queues set ${queue} --rate changes it.`,
    };
  if (grownFrom !== null)
    return {
      ...{ ...inLine, kind: "growing", level: "red", runbook: "PaihaoLineGrowing" },
      text:
        `${queue}: ${rate(row.acceptedLastMinute / 60)} a second come in, ${rate(row.finishedLastMinute / 60)} are done; ` +
        `${count(waiting)} waiting, ${count(grownFrom)} a minute ago`,
      advice: `Add workers or slots; is one caller behind it? paihao ls ${queue}`,
    };
  return null;
}

function failing({ row, past }: QueueState): Fault | null {
  const { finishedLastMinute: finished, failedLastMinute: failed, snapshot } = row;
  if (failed < FAILING.count || failed < finished * FAILING.share) return null;
  if (past && failed < finished * past.failedShare * FAILING.factor) return null;
  const { queue } = snapshot;
  return {
    ...{ queue, kind: "failing", level: "red", list: "finished", runbook: "PaihaoFailureRateHigh" },
    text: `${queue}: ${count(failed)} of ${count(Math.max(failed, finished))} tasks failed in the last minute`,
    advice: `Since a deploy? paihao pause ${queue} stops it; paihao dead ls ${queue} has the errors.`,
  };
}

function slow({ row, past }: QueueState): Fault | null {
  const { queue, running, timesMs, agesMs } = row.snapshot;
  if (!past || row.longestTurnMs !== null || (running === 0 && row.finishedLastMinute === 0)) return null;
  // Tasks that have been running for longer say it before they end.
  const takesMs = Math.max(median(timesMs.slice(-LATEST)), agesMs.length >= LATEST ? median(agesMs) : 0);
  const factor = takesMs / Math.max(1, past.serviceMs);
  if (takesMs < SLOW.ms || factor < SLOW.factor) return null;
  const before = duration(past.serviceMs / 1000);
  return {
    ...{ queue, kind: "slow", level: "red", list: "running", runbook: "PaihaoHandlerSlow" },
    text: `${queue}: ${count(Math.round(factor))}× slower than ${about(past.agoMs / 1000)} ago (${duration(takesMs / 1000)}, ${before} then)`,
    advice: "Look at what its handler calls, and at the machines of its workers.",
  };
}

/** Whose failed deliveries wait to be tried again: nothing else of it is scheduled. */
const WEBHOOKS = "paihao.webhooks";

function webhooksRetrying({ row: { snapshot } }: QueueState): Fault | null {
  const { queue, scheduled } = snapshot;
  if (scheduled === 0 || !(queue === WEBHOOKS || queue.startsWith(`${WEBHOOKS}.`))) return null;
  return {
    ...{ queue, kind: "webhooks-retrying", level: "red", list: "scheduled", runbook: "PaihaoWebhooksFailing" },
    text: `webhooks: ${scheduled === 1 ? "1 delivery has failed and is" : `${count(scheduled)} deliveries have failed and are`} to be tried again`,
    advice: `paihao ls ${queue} --state scheduled shows them.`,
  };
}

function dead({ row }: QueueState): Fault | null {
  const { queue } = row.snapshot;
  if (row.dead === 0) return null;
  return {
    ...{ queue, kind: "dead", level: "red", list: "dead", runbook: "PaihaoDeadTasks" },
    text: `${queue}: ${count(row.dead)} dead`,
    advice: `paihao dead ls ${queue} has the errors; paihao dead retry ${queue} --all runs them again.`,
  };
}

/** The store refuses submissions. */
export const storeFull = (text: string): Fault => ({
  ...{ kind: "store-full", level: "red", queue: null, list: null, runbook: "PaihaoStoreFull", text },
  advice: "Redis is at its maxmemory: make room, or give it more.",
});

/** Workers were lost a short time ago. @param workers how many */
export const workersLost = (workers: number, withinMs: number): Fault => ({
  ...{ kind: "workers-lost", level: "red", queue: null, list: null, runbook: "PaihaoLeasesLost" },
  text: `${counted(workers, "worker")} lost in the last ${about(withinMs / 1000)}; their tasks run again`,
  advice: "paihao events has their tasks; the log of their machine says why.",
});

/** As far as needed back, an interval is as good as its neighbours: so many of the oldest tell how a queue did. */
const OLDEST = 30;
const LEAST = 3;
/** What is more recent is not the past, ms. */
const RECENT_MS = 60_000;

/**
 * How a queue did in the oldest part of the last hour; null if it has done too little.
 * @param samples the newest first
 */
export function pastOf(samples: readonly Sample[], intervalMs: number, nowMs: number): Past | null {
  const old = samples.filter(
    ({ interval, times }) => times.serviceP50 !== null && (interval + 1) * intervalMs < nowMs - RECENT_MS,
  );
  const oldest = old.slice(-OLDEST);
  const [last, first] = [oldest[0], oldest.at(-1)];
  if (!last || !first || oldest.length < LEAST) return null;
  const finished = last.finished - first.finished;
  return {
    agoMs: nowMs - last.interval * intervalMs,
    serviceMs: median(oldest.map(({ times }) => times.serviceP50 ?? 0)),
    failedShare: finished > 0 ? (last.failed - first.failed) / finished : 0,
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

/** Over which time a line has to grow, ms. */
const GROWTH_MS = 60_000;

/** The lengths of a line in the last minute. */
export class LineGrowth {
  #seen: { readonly atMs: number; readonly waiting: number }[] = [];

  /** Adds its present length; returns that of a minute ago if the line has grown in both halves of the minute since, else null. */
  add(waiting: number, atMs: number): number | null {
    this.#seen = [...this.#seen, { atMs, waiting }];
    // One is kept that is older than the minute.
    while ((this.#seen[1]?.atMs ?? Number.POSITIVE_INFINITY) <= atMs - GROWTH_MS) this.#seen.shift();
    const [first] = this.#seen;
    if (!first || first.atMs > atMs - GROWTH_MS) return null;
    const middle = this.#seen.findLast(({ atMs: at }) => at <= atMs - GROWTH_MS / 2) ?? first;
    const grown = waiting - first.waiting;
    const isSteady = first.waiting < middle.waiting && middle.waiting < waiting;
    return isSteady && grown >= Math.max(GROWN.count, waiting * GROWN.share) ? first.waiting : null;
  }
}
