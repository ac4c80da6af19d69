import { readFileSync } from "node:fs";
import { MEAN, WORKLOADS, type WorkloadName } from "../test/shared/line-simulation.ts";
import { randomOf } from "../test/shared/random.ts";

/** A task of a line: when it arrives, and how long it takes, ms. */
export interface LineTask {
  readonly atMs: number;
  readonly ms: number;
  /** Whether its estimate is judged. */
  readonly judged: boolean;
}

/** The tasks of one line, in the order in which they arrive. */
export type Line = readonly LineTask[];

/** Tasks that arrive together. */
const WAVE = 30;

/** Tasks of a workload that arrive in waves, as many as the slots can do. */
export function wavesOf(workload: WorkloadName, slots: number, tasks: number, meanMs: number, nth: number): Line {
  const [takes, pauses] = [randomOf(100 * slots + nth), randomOf(nth + 1)];
  let atMs = 0;
  return Array.from({ length: tasks }, (_, n) => {
    if (n > 0 && n % WAVE === 0) atMs += ((WAVE * meanMs) / slots) * 2 * pauses();
    return { atMs, ms: (WORKLOADS[workload](n + 1, takes) * meanMs) / MEAN, judged: true };
  });
}

/** Quick and slow tasks differ as much as 0.12 s and 3 s. */
const KINDS = { slow: 600, fast: 24 } as const;
/** Work that changes: how many tasks of the first and of the second kind, and how many more of the second arrive at once in the end. */
const CHANGES = {
  "slow, fast, flood": { first: { kind: "slow", tasks: 16 }, second: { kind: "fast", tasks: 200 }, flood: 400 },
  "fast, slow, flood": { first: { kind: "fast", tasks: 200 }, second: { kind: "slow", tasks: 104 }, flood: 100 },
} as const;
export type ChangeName = keyof typeof CHANGES;
export const CHANGE_NAMES = Object.keys(CHANGES) as ChangeName[];
/** So much slower do the tasks before the flood arrive than the slots can do, so that they have ended when it comes. */
const SLACK = 1.2;

/** Work that changes, and then a flood: only the flood is judged, when at least a hundred tasks of the new kind have ended. */
export function changeOf(name: ChangeName, slots: number, nth: number): Line {
  const { first, second, flood } = CHANGES[name];
  const random = randomOf(nth + 1);
  let atMs = 0;
  const tasksOf = (kind: keyof typeof KINDS, tasks: number, judged: boolean) =>
    Array.from({ length: tasks }, (): LineTask => {
      const ms = KINDS[kind] * (0.5 + random());
      const task = { atMs, ms, judged };
      if (!judged) atMs += (SLACK * KINDS[kind]) / slots;
      return task;
    });
  return [
    ...tasksOf(first.kind, first.tasks, false),
    ...tasksOf(second.kind, second.tasks, false),
    ...tasksOf(second.kind, flood, true),
  ];
}

/** Azure's traces of requests to language models, see data/README.md: by how much they are sped up. */
export const TRACES = {
  conversations: { file: "azure-llm-conv", speed: 50 },
  code: { file: "azure-llm-code", speed: 10 },
};
export type TraceName = keyof typeof TRACES;
/** How long a token takes that is read, and one that is written, ms. */
const TOKEN_MS = { context: 0.1, generated: 25 } as const;
/** The arrivals are stretched so that the slots are busy for this share of the time. */
const BUSY = 0.94;

/** The windows of a trace, each a line. */
export function traceOf(name: TraceName, slots: number): Line[] {
  const { file, speed } = TRACES[name];
  const text = readFileSync(new URL(`./data/${file}.csv`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n\n")
    .map((window) => {
      const rows = window.split("\n").map((row) => row.split(",").map(Number));
      const takes = rows.map(([, context = 0, generated = 0]) => {
        return (TOKEN_MS.context * context + TOKEN_MS.generated * generated) / speed;
      });
      const lastMs = rows.at(-1)?.[0] ?? 0;
      const stretch = takes.reduce((sum, ms) => sum + ms, 0) / slots / BUSY / lastMs;
      return rows.map(([atMs = 0], n) => ({ atMs: atMs * stretch, ms: takes[n] ?? 0, judged: true }));
    });
}
