import { estimate } from "../../engine/estimates/estimate.ts";
import { serviceFigures } from "../../engine/estimates/service-figures.ts";
import type { QueueSnapshot } from "../../store/line/snapshot.ts";
import type { Eta } from "../../wire/task.ts";
import type { GroupRow } from "./verbs.ts";

type Members = Pick<GroupRow, "counts" | "index" | "turn" | "dueMs" | "begunMs">;

/**
 * When the last member of a group will have ended. Compares the last member in line, the scheduled or retrying one that is due last, and the
 * running one that began last, each with its service time. Null if any of them is unknown.
 */
export function estimateEnd(
  { counts, index, turn, dueMs, begunMs }: Members,
  snapshot: QueueSnapshot,
  nowMs: number,
): Eta | null {
  const service = serviceFigures(snapshot);
  if (!service) return null;
  const { meanMs, variance, samples } = service;
  const starts: (Eta | null)[] = [];
  if (counts.waiting > 0) starts.push(estimate(snapshot, { state: "waiting", index, turn }, nowMs));
  if (counts.scheduled + counts.retrying > 0) {
    const state = counts.scheduled > 0 ? "scheduled" : "retrying";
    starts.push(estimate(snapshot, { state, index: null, dueMs }, nowMs));
  }
  const spreadMs = Math.sqrt(variance);
  const ends = starts.map((start) => start && later(start, meanMs, spreadMs));
  if (counts.running > 0) {
    const restMs = Math.max(0, meanMs - (nowMs - (begunMs ?? nowMs)));
    const running: Eta = { seconds: 0, low: 0, high: 0, basis: "running", samples };
    ends.push(later(running, restMs, spreadMs));
  }
  return ends.reduce((last, end) => (last && end ? latest(last, end) : null));
}

const rounded = (seconds: number): number => Math.round(Math.max(0, seconds) * 1000) / 1000;

/** A start and a service time. */
const later = (start: Eta, ms: number, spreadMs: number): Eta => ({
  ...start,
  seconds: rounded(start.seconds + ms / 1000),
  low: rounded(start.low + (ms - Math.min(ms, spreadMs)) / 1000),
  high: rounded(start.high + (ms + spreadMs) / 1000),
});

const latest = (a: Eta, b: Eta): Eta => ({
  ...(a.seconds >= b.seconds ? a : b),
  low: Math.max(a.low, b.low),
  high: Math.max(a.high, b.high),
});
