import type { KeyTurn, QueueSnapshot, WorkerStart } from "../../store/verbs/scripts.ts";
import type { State } from "../../task.ts";
import type { Eta } from "../../wire/task.ts";
import { type Forecast, forecastTurnovers } from "./forecast.ts";
import { turnoversBefore } from "./turnovers.ts";
import { forecastStart } from "./worker-start.ts";

/** Shorter times are rounded to a millisecond, longer ones to a tenth of a second, which is at most 1 % of them. */
const FINE_BELOW_MS = 10_000;

/** A time in seconds, as callers see it. */
function seconds(ms: number): number {
  const step = ms < FINE_BELOW_MS ? 1 : 100;
  return (Math.round(ms / step) * step) / 1000;
}

/**
 * Estimates the start of a task from its place in line. With every slot busy, a task with index A starts when A + 1 of them
 * have become free, or fewer if a slot takes several tasks (turnovers.ts); forecast.ts computes when. Null if unknown: the queue is paused
 * or its circuit breaker open, there is no history yet, or no live worker and nothing known of how long one takes to start
 * (worker-start.ts). In a keyed line only tasks that may start count; a task that waits for its line key starts when the earlier tasks of
 * that key have ended.
 */
export function estimate(
  snapshot: QueueSnapshot,
  task: Place & { state: State; dueMs?: number | null },
  nowMs: number,
): Eta | null {
  const { samples } = snapshot;
  if (task.state === "running") return { seconds: 0, low: 0, high: 0, basis: "running", samples };
  if (task.state === "scheduled" || task.state === "retrying") {
    if (task.dueMs === undefined || task.dueMs === null) return null;
    // The task joins the line when it is due; the line at that time is unknown, so only the earliest start is certain.
    const dueInMs = Math.max(0, task.dueMs - nowMs);
    const line = snapshot.startable ?? snapshot.waiting;
    const behind = estimate(snapshot, { state: "waiting", index: line }, nowMs);
    const waitMs = task.state === "scheduled" && behind ? behind.high * 1000 : 0;
    const due = seconds(dueInMs);
    return { seconds: due, low: due, high: seconds(dueInMs + waitMs), basis: "schedule", samples };
  }
  if (snapshot.paused || snapshot.breakerOpen) return null;
  const { starting } = snapshot;
  if (starting) return afterStart(snapshot, task, starting);
  const wait = forecastWait(snapshot, task);
  if (!wait) return null;
  return { ...etaOf(wait), basis: wait === AT_ONCE ? "idle" : "history", samples };
}

/** The place of a task. */
interface Place {
  readonly index: number | null;
  readonly turn?: KeyTurn | null;
}

const AT_ONCE: Forecast = { lowMs: 0, middleMs: 0, highMs: 0 };

/** When a waiting task will start with the present slots; null if unknown. */
function forecastWait(snapshot: QueueSnapshot, task: Place): Forecast | null {
  const { slots, samples, meanMs, variance, misses, slowMeanMs, slowMisses } = snapshot;
  if (task.index === null || slots === 0) return null;
  const { turnovers, agesMs, unsureMs, perhapsNow } = turnoversBefore(snapshot, task.turn?.before ?? task.index);
  const ends = task.turn?.ends ?? 0;
  if (turnovers <= 0 && ends === 0) return AT_ONCE;
  if (meanMs === null || variance === null || samples === 0) return null;
  const service = { meanMs, variance, samples, misses, slowMeanMs, slowMisses };
  const forecasts: Forecast[] = [];
  if (turnovers > 0) forecasts.push(forecastTurnovers({ turnovers, slots, agesMs, unsureMs, ...service }));
  // Assumes that each earlier task of its key ends with its first attempt; how long the current ones have been running is unknown.
  const atOnce = Math.min(task.turn?.limit ?? slots, slots);
  if (ends > 0) forecasts.push(forecastTurnovers({ turnovers: ends, slots: atOnce, agesMs: [], ...service }));
  return {
    middleMs: Math.max(...forecasts.map(({ middleMs }) => middleMs)),
    lowMs: perhapsNow && ends === 0 ? 0 : Math.max(...forecasts.map(({ lowMs }) => lowMs)),
    highMs: Math.max(...forecasts.map(({ highMs }) => highMs)),
  };
}

/** How many slots a forecast takes into account. */
const AGES = 16;

/** The same while no worker is there: the first one will take as many tasks as it has slots, all at once. */
function afterStart(snapshot: QueueSnapshot, task: Place, starting: WorkerStart): Eta | null {
  const { slots, samples } = starting;
  const turn = task.turn ?? null;
  // The tasks of a lost worker return to their places in front.
  const back = snapshot.running;
  const place: Place = {
    index: task.index === null ? null : task.index + back,
    turn: turn && { ...turn, before: turn.before + back },
  };
  const wait = forecastWait({ ...snapshot, running: 0, slots, agesMs: Array(Math.min(slots, AGES)).fill(0) }, place);
  if (!wait) return null;
  const start = forecastStart(starting);
  const middleMs = start.middleMs + wait.middleMs;
  const below = Math.hypot(start.middleMs - start.lowMs, wait.middleMs - wait.lowMs);
  const above = Math.hypot(start.highMs - start.middleMs, wait.highMs - wait.middleMs);
  const sum = { lowMs: Math.max(start.lowMs, middleMs - below), middleMs, highMs: middleMs + above };
  return { ...etaOf(sum), basis: "starting", samples };
}

const etaOf = ({ lowMs, middleMs, highMs }: Forecast): Pick<Eta, "seconds" | "low" | "high"> => ({
  seconds: seconds(middleMs),
  low: seconds(lowMs),
  high: seconds(highMs),
});

/** The probable progress of a running task, from the service times of others: 0–99; null without history. */
export function estimatedPercent(snapshot: QueueSnapshot, startedMs: number, nowMs: number): number | null {
  if (snapshot.meanMs === null || snapshot.meanMs <= 0) return null;
  return Math.max(0, Math.min(99, Math.floor(((nowMs - startedMs) / snapshot.meanMs) * 100)));
}
