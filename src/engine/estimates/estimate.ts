import { formatDuration } from "../../config/duration.ts";
import type { KeyTurn, LineRate, Pace, QueueSnapshot, WorkerStart } from "../../store/line/snapshot.ts";
import type { State } from "../../task.ts";
import type { Eta } from "../../wire/task.ts";
import { type Forecast, forecastStart, forecastTurnovers, later } from "./forecast.ts";
import { forecastRate, lagOf, laterRounds, rateAfter, TIMERS } from "./rate.ts";
import { meanOfEnded, reportedRest, type ServiceFigures, serviceFigures } from "./service-figures.ts";
import { startsBefore, turnoversBefore } from "./turnovers.ts";

/** Shorter times are rounded to a millisecond, longer ones to a tenth of a second, which is at most 1 % of them. */
const FINE_BELOW_MS = 10_000;

/** A time in seconds, as callers see it. */
function seconds(ms: number, round = Math.round): number {
  if (ms < FINE_BELOW_MS) return Math.round(ms) / 1000;
  return round(ms / 100) / 10;
}

/**
 * Estimates the start of a task from its place in line, and from all that holds the line. With every slot busy, a task with index A starts
 * when A + 1 of them have become free, or fewer if a slot takes several tasks (turnovers.ts); forecast.ts computes when, from the service
 * times so far and from what running tasks report of their progress (service-figures.ts). A rate may hold it for longer (rate.ts). In a keyed line
 * only tasks that may start count; a task that waits for its line key starts when the earlier tasks of that key have ended. Null if unknown:
 * the queue is paused or its gate lets nothing through, nothing is known of its service times, or too little for a useful range, or there is no live
 * worker and nothing known of how long one takes to start.
 */
export function estimate(
  snapshot: QueueSnapshot,
  task: Place & { state: State; dueMs?: number | null },
  nowMs: number,
): Eta | null {
  const { samples } = snapshot;
  if (task.state === "running") return { seconds: 0, low: 0, high: 0, basis: "running", samples };
  if (task.state === "scheduled" || task.state === "retrying") return untilDue(snapshot, task, nowMs);
  if (snapshot.paused || snapshot.resting) return null;
  const { starting } = snapshot;
  if (starting) return afterStart(snapshot, task, starting);
  const wait = waitOf(snapshot, task);
  if (!wait) return null;
  const rate = wait.basis === "rate" && snapshot.rate ? { rate: rateLimitOf(snapshot.rate) } : {};
  return { ...etaOf(wait), basis: wait.basis, ...rate, samples: wait.samples };
}

/** A rate as handlers declare it and callers see it. */
export const rateLimitOf = ({ max, perMs }: Pick<LineRate, "max" | "perMs">): NonNullable<Eta["rate"]> => ({
  max,
  per: formatDuration(perMs),
});

/**
 * The task joins the line when it is due. What has joined by then is unknown: only what is in line now is certain to come before it. One that is
 * tried again returns to its old place, in front.
 */
function untilDue(
  snapshot: QueueSnapshot,
  { state, dueMs = null }: { readonly state: State; readonly dueMs?: number | null },
  nowMs: number,
): Eta | null {
  if (dueMs === null) return null;
  const due = seconds(Math.max(0, dueMs - nowMs));
  const line = snapshot.startable ?? snapshot.waiting;
  const behind = state === "scheduled" ? estimate(snapshot, { state: "waiting", index: line }, nowMs) : null;
  return {
    seconds: line === 0 ? due : Math.max(due, behind?.seconds ?? 0),
    low: line === 0 ? due : Math.max(due, behind?.low ?? 0),
    high: seconds((due + (behind?.high ?? 0)) * 1000),
    ...{ basis: "schedule", samples: snapshot.samples },
  };
}

/** The place of a task. */
interface Place {
  readonly index: number | null;
  readonly turn?: KeyTurn | null;
}

/** What a waiting task waits for, and on how many service times that is based. */
interface Wait extends Forecast {
  readonly basis: "idle" | "history" | "progress" | "rate";
  readonly samples: number;
}

const AT_ONCE: Forecast = { lowMs: 0, middleMs: 0, highMs: 0 };
/** With fewer service times than this, a range of more than a second that is so many times as wide as its middle tells nothing. */
const VAGUE = { samples: 16, ms: 1000, width: 3 } as const;

/** When a waiting task will start with the present slots; null if unknown. */
function waitOf(snapshot: QueueSnapshot, place: Place): Wait | null {
  if (place.index === null || snapshot.slots === 0) return null;
  const service = serviceFigures(snapshot);
  const samples = service?.samples ?? 0;
  const before = tasksBefore(snapshot, place, place.index, service);
  const slots = slotsWait(snapshot, place, before, service);
  const rate = rateWait(snapshot, before, service);
  if (slots === "unknown") {
    // As long as slots are free, the rate holds the line.
    const isHeldByRate = rate.highMs > 0 && snapshot.running < snapshot.slots;
    return isHeldByRate ? { ...rate, basis: "rate", samples } : null;
  }
  if (slots.highMs === 0 && rate.highMs === 0) return { ...AT_ONCE, basis: "idle", samples };
  const wait = latest(slots, rate);
  const width = wait.highMs - wait.lowMs;
  if (samples < VAGUE.samples && width > Math.max(VAGUE.ms, VAGUE.width * wait.middleMs)) return null;
  const bySlots = snapshot.samples > 0 ? "history" : "progress";
  return { ...wait, basis: rate.middleMs > slots.middleMs ? "rate" : bySlots, samples };
}

/** The later of two forecasts of which one includes how the other holds it: where both come at about the same time, with the wider range. */
function latest(a: Forecast, b: Forecast): Forecast {
  const middleMs = Math.max(a.middleMs, b.middleMs);
  // How far below the middle its range reaches, as far as it matters.
  const below = (of: Forecast) => Math.max(0, 2 * of.middleMs - of.lowMs - middleMs);
  const lowMs = Math.max(0, middleMs - Math.max(below(a), below(b)));
  return { lowMs, middleMs, highMs: Math.max(a.highMs, b.highMs) };
}

/** How slots spread the starts of one span over it is unknown before a task has ended; the last of them at most starts at its end. */
function withUnknownSlots({ slots, running }: QueueSnapshot, rate: LineRate, allowed: Forecast, nth: number): Forecast {
  const withinMs = (Math.max(0, nth + 1 - (slots - running)) / rate.max) * rate.perMs;
  return { ...allowed, middleMs: allowed.middleMs + withinMs / 3, highMs: allowed.highMs + withinMs };
}

/** How many tasks start before this one: in a keyed line, not all that come before it. */
function tasksBefore(snapshot: QueueSnapshot, { turn }: Place, index: number, service: ServiceFigures | null): number {
  if (!turn) return index;
  const { running, slots, batch, rate } = snapshot;
  const bySlots = slots * (batch?.max ?? 1);
  const atOnce = rate && service ? Math.min(bySlots, (service.meanMs * rate.max) / rate.perMs) : bySlots;
  const { mostFrequent = 0 } = snapshot;
  return startsBefore({
    index,
    startable: turn.before,
    running,
    atOnce: Math.max(1, atOnce),
    limit: turn.limit,
    mostFrequent,
  });
}

/** When slots, and the limit for its line key, will let the task start. */
function slotsWait(
  snapshot: QueueSnapshot,
  { turn = null }: Pick<Place, "turn">,
  before: number,
  service: ServiceFigures | null,
): Forecast | "unknown" {
  const { slots } = snapshot;
  const line = turnoversBefore(snapshot, before, snapshot.rate !== undefined);
  const ends = turn?.ends ?? 0;
  if (line.turnovers <= 0 && ends === 0) return AT_ONCE;
  if (!service) return "unknown";
  // Which tasks of other keys come before it depends on chance.
  const overtaken = turn ? OVERTAKEN * Math.sqrt(Math.max(0, before - turn.before)) : 0;
  const chanceMs = (overtaken * service.meanMs) / slots / (snapshot.batch?.max ?? 1);
  const forLine =
    line.turnovers > 0
      ? forecastTurnovers({ ...line, slots, service, unsureMs: Math.hypot(line.unsureMs, chanceMs) })
      : AT_ONCE;
  // Assumes that each earlier task of its key ends with its first attempt; how long the current ones have been running is unknown.
  const atOnce = Math.min(turn?.limit ?? slots, slots);
  const unsureMs = UNKNOWN_AGE * service.meanMs;
  const forKey =
    ends > 0 ? forecastTurnovers({ turnovers: ends, slots: atOnce, agesMs: [], unsureMs, service }) : AT_ONCE;
  const wait = later(forLine, forKey);
  return line.perhapsNow && ends === 0 ? { ...wait, lowMs: 0 } : wait;
}

/** The standard deviation of the number of held tasks that come first, per square root of their number. */
const OVERTAKEN = 0.4;
/** The standard deviation of a time of which nothing is known but that it is between 0 and 1. */
const UNKNOWN_AGE = Math.sqrt(1 / 12);

/** When the rate will let the task start. */
function rateWait(snapshot: QueueSnapshot, before: number, service: ServiceFigures | null): Forecast {
  const { rate } = snapshot;
  if (!rate) return AT_ONCE;
  const rounds = Math.floor(before / rate.max);
  const first = before - rounds * rate.max;
  const { slots, batch } = snapshot;
  const lag = service ? lagOf(rate, { ...service, slots, batch: batch?.max ?? 1 }) : TIMERS;
  const allowed = forecastRate(rate, first, lag);
  // Each round starts as the round before did, which the slots may have held; and may now hold.
  const held = rounds > 0 ? slotsWait(snapshot, {}, first, service) : AT_ONCE;
  const begun =
    held === "unknown" ? withUnknownSlots(snapshot, rate, allowed, first) : later(allowed, held, rounds + 1);
  return laterRounds(rate, begun, rounds, lag);
}

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
  const start = forecastStart(starting);
  const { rate, reports: _, ...rest } = snapshot;
  const then = { ...rest, running: 0, slots, agesMs: [], ...(rate && { rate: rateAfter(rate, start.middleMs) }) };
  const wait = waitOf(then, place);
  if (!wait) return null;
  const middleMs = start.middleMs + wait.middleMs;
  const below = Math.hypot(start.middleMs - start.lowMs, wait.middleMs - wait.lowMs);
  const above = Math.hypot(start.highMs - start.middleMs, wait.highMs - wait.middleMs);
  const sum = { lowMs: Math.max(start.lowMs, middleMs - below), middleMs, highMs: middleMs + above };
  return { ...etaOf(sum), basis: "starting", samples };
}

function etaOf({ lowMs, middleMs, highMs }: Forecast): Pick<Eta, "seconds" | "low" | "high"> {
  // 0 is only said of what starts at once.
  const middle = middleMs > 0 ? Math.max(1, middleMs) : 0;
  return {
    seconds: seconds(middle),
    // A narrow range must not lose the true start to a tenth of a second.
    low: lowMs < middle ? seconds(lowMs, Math.floor) : seconds(middle),
    high: highMs > middle ? seconds(highMs, Math.ceil) : seconds(middle),
  };
}

/** The mean time between two starts of a line with all slots busy, ms; null if it is unknown, or nothing starts. */
export function intervalMs(snapshot: QueueSnapshot): number | null {
  const { slots, batch, rate, paused, resting } = snapshot;
  const service = serviceFigures(snapshot);
  if (!service || slots === 0 || paused || resting) return null;
  return Math.max(service.meanMs / slots / (batch?.max ?? 1), rate ? rate.perMs / rate.max : 0);
}

/** How long a running task will still take, ms: by its own report, else by the service times of others; null if neither is known. */
export function restMs(snapshot: QueueSnapshot, progress: Pace | null, runningForMs: number): number | null {
  const reported = reportedRest(progress, runningForMs);
  if (reported) return reported.ms;
  const service = serviceFigures(snapshot);
  return service && Math.max(0, service.meanMs - runningForMs);
}

/** The probable progress of a running task, from the service times of others: 0–99; null without history. */
export function estimatedPercent(snapshot: QueueSnapshot, startedMs: number, nowMs: number): number | null {
  const meanMs = meanOfEnded(snapshot) ?? 0;
  return meanMs > 0 ? Math.max(0, Math.min(99, Math.floor(((nowMs - startedMs) / meanMs) * 100))) : null;
}
