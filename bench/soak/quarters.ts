import type { Figure } from "../harness/bench.ts";
import { median, percentile } from "../harness/turns.ts";
import type { Sample } from "./sample.ts";

/** What was measured at one time, and the latencies since the time before. */
export interface Moment {
  readonly sample: Sample;
  readonly latencies: readonly number[];
}

/** By how much a figure of the last quarter may exceed that of the first one: as a share, and as a number. */
const ALLOWED = { share: 1.25, more: 10 } as const;
/** Latencies depend on whatever else the machine does: they must not grow without bound, ms. */
const ALLOWED_LATENCY = { share: 2, more: 100 } as const;

/** Compares the last quarter of a run with the first one: no figure of a server may grow with time. */
export function compareQuarters(moments: readonly Moment[]): Figure[] {
  const length = Math.max(1, Math.floor(moments.length / 4));
  const [first, last] = [moments.slice(0, length), moments.slice(-length)];
  const names = [...new Set(moments.flatMap(({ sample }) => Object.keys(sample)))];
  const p99 = (some: readonly Moment[]) =>
    percentile(
      some.flatMap(({ latencies }) => latencies),
      0.99,
    );
  return [
    ...names.map((name) => figure(name, "", [usual(first, name), usual(last, name)], ALLOWED)),
    figure("synchronous call, p99", "ms", [p99(first), p99(last)], ALLOWED_LATENCY),
  ];
}

/** The heap swings between two collections: what counts is how much stays after one. */
function usual(moments: readonly Moment[], name: string): number {
  const values = moments.map(({ sample }) => sample[name] ?? 0);
  return name.startsWith("heap") ? Math.min(...values) : median(values);
}

function figure(
  name: string,
  unit: "" | "ms",
  [first, last]: readonly [number, number],
  allowed: { share: number; more: number },
): Figure {
  const shown = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(1));
  return {
    ...{ figure: `${name}: last quarter`, store: "AOF everysec", ours: shown(last) },
    ...{ against: "first quarter", theirs: shown(first), value: last, unit },
    target: { atMost: Math.round(first * allowed.share + allowed.more) },
  };
}
