import type { Line } from "../store/scripts.ts";
import type { State } from "../task.ts";

/** When a task's turn will come. */
export interface Eta {
  /** Seconds from now until it starts: the middle of the estimate. */
  readonly seconds: number;
  /** The true start lies between low and high in about 80 of 100 cases. */
  readonly low: number;
  readonly high: number;
  /** `running`: its turn has come; `idle`: a slot is free; `schedule`: its due time; `history`: service times of the queue. */
  readonly basis: "running" | "idle" | "schedule" | "history";
  /** How many service times the estimate rests on. */
  readonly samples: number;
}

/** A normal distribution lies within this many standard deviations of its mean in 80 of 100 cases. */
const Z80 = 1.2816;

const tenth = (seconds: number): number => Math.round(seconds * 10) / 10;

/**
 * Estimates the start of a task from its place in line. With every slot busy, a task with index A starts when A + 1 of them
 * have come free, each slot turning over once in a mean service time; the spread is that of the sum of as many service times.
 * Null where it cannot be known: paused, no live worker, or no history yet.
 */
export function estimate(
  line: Line,
  task: { state: State; index: number | null; dueMs?: number | null },
  nowMs: number,
): Eta | null {
  const { samples } = line;
  if (task.state === "running") return { seconds: 0, low: 0, high: 0, basis: "running", samples };
  if (task.state === "scheduled" || task.state === "retrying") {
    if (task.dueMs === undefined || task.dueMs === null) return null;
    // It joins the line when it is due; who will stand there then is not known, so only the earliest start is certain.
    const due = Math.max(0, (task.dueMs - nowMs) / 1000);
    const behind = estimate(line, { state: "waiting", index: line.waiting }, nowMs);
    const wait = task.state === "scheduled" && behind ? behind : { seconds: 0, high: 0 };
    return { seconds: tenth(due), low: tenth(due), high: tenth(due + wait.high), basis: "schedule", samples };
  }
  if (task.index === null || line.paused || line.slots === 0) return null;
  const turnovers = task.index + line.running - line.slots + 1;
  if (turnovers <= 0) return { seconds: 0, low: 0, high: 0, basis: "idle", samples };
  if (line.meanMs === null || line.variance === null) return null;
  const mean = (turnovers * line.meanMs) / line.slots / 1000;
  const spread = (Z80 * Math.sqrt(turnovers * line.variance)) / line.slots / 1000;
  return {
    seconds: tenth(mean),
    low: tenth(Math.max(0, mean - spread)),
    high: tenth(mean + spread),
    basis: "history",
    samples,
  };
}

/** How far a running task is likely to be, from the time others took: 0–99; null without history. */
export function estimatedPercent(line: Line, startedMs: number, nowMs: number): number | null {
  if (line.meanMs === null || line.meanMs <= 0) return null;
  return Math.max(0, Math.min(99, Math.floor(((nowMs - startedMs) / line.meanMs) * 100)));
}
