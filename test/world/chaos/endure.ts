import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { withTimeout } from "../../../src/net/deadline.ts";
import { isOutcome } from "../../../src/task.ts";
import { BUSY_MS } from "../../helpers/busy.ts";
import { eventually } from "../../shared/eventually.ts";
import { Callers, type Pace } from "../callers.ts";
import type { FaultOf } from "../faults.ts";
import { brokenIn } from "../history/check.ts";
import type { HistoryEntry } from "../history/history.ts";
import { leftovers } from "../leftovers.ts";
import { HttpCalls } from "./calls.ts";
import type { World } from "./deployment.ts";
import { STRIKES } from "./faults.ts";

/** What came of a round of faults. */
export interface Round {
  readonly accepted: number;
  readonly runs: number;
  /** From the end of a fault until a task that was submitted after it had ended; the longest. */
  readonly recoveryS: number;
  readonly history: readonly HistoryEntry[];
}

/** How a round is played. */
export interface RoundOptions {
  readonly pace: Pace;
  readonly chance: () => number;
  /** Further callers. With them, as in a soak, results leave the store too soon to be read once more at the end. */
  readonly beside?: { start(): void; finish(): Promise<void> };
}

/** An API answers within this time, whatever the store does. */
const ANSWER_MS = 5000 + BUSY_MS;
/** A store that is back is used again within this time. */
const RECOVERY_S = 30;
/** Tasks accepted before a fault strikes, and after it is over. */
const AROUND = 40;
/** After the last fault every task ends within this time. */
const DRAIN_MS = 60_000;
const QUEUES = [
  "work",
  "keyed",
  "neighbor",
  "pill",
  "fair",
  "batch",
  "limited",
  "output",
  "trip",
  "plain",
  "paihao.undo",
  "paihao.webhooks",
];
/** Broken promises that are shown. */
const SHOWN = 5;

let probes = 0;

/**
 * Causes one fault after the other under load, and checks every promise afterwards.
 * @throws Error if one is broken; its history is in a file, which `npm run chaos -- --check` reads
 */
export async function endure(
  world: World,
  faults: readonly FaultOf<"chaos">[],
  { pace, chance, beside }: RoundOptions,
): Promise<Round> {
  const callers = new Callers(new HttpCalls(() => world.nextUrl(), chance), pace);
  world.journal.clear();
  world.handBacks.length = 0;
  let recoveryS = 0;
  callers.start();
  beside?.start();
  try {
    await callers.more(AROUND);
    for (const fault of faults) {
      await STRIKES[fault](world, callers);
      recoveryS = Math.max(recoveryS, await recovery(world, callers));
    }
    await callers.more(AROUND);
    await withTimeout(
      DRAIN_MS,
      callers.finish(),
      () => new Error(`tasks that do not end: ${callers.open.slice(0, SHOWN)}`),
    );
    await beside?.finish();
    await eventually(async () => {
      const left = await leftovers(world.observer, QUEUES);
      if (left.length > 0) throw new Error(left.slice(0, SHOWN).join("; "));
    }, DRAIN_MS);
    if (!beside) await callers.readAll();
  } finally {
    callers.leave();
    await beside?.finish();
  }
  const marks = world.journal.marks();
  const history = [...callers.history, ...marks, ...world.handBacks];
  const broken = brokenIn(history);
  // A soak compares latencies instead.
  if (!beside && callers.slowestMs > ANSWER_MS)
    broken.push(`a caller waited ${callers.slowestMs.toFixed(0)} ms for an answer`);
  if (recoveryS > RECOVERY_S) broken.push(`it took ${recoveryS.toFixed(0)} s until all went on`);
  if (broken.length > 0) {
    const file = path.join(tmpdir(), `paihao-history-${process.pid}-${Date.now()}.ndjson`);
    writeFileSync(file, history.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    throw new Error(
      [`${broken.length} broken promises, of the history in ${file}`, ...broken.slice(0, SHOWN)].join("\n  "),
    );
  }
  const runs = marks.filter(({ type }) => type === "begins").length;
  return { accepted: callers.accepted.size, runs, recoveryS, history };
}

/** Submits a task, and waits for its end: then everything works again. Resolves to the time that it took, s. */
async function recovery(world: World, callers: Callers): Promise<number> {
  const over = performance.now();
  probes += 1;
  const id = `probe-${process.pid}-${probes}`;
  const subject = { id, queue: "work" };
  await eventually(async () => (await callers.submit(subject, { work: { ms: 0 } })).outcome === "ok", DRAIN_MS);
  await eventually(async () => {
    const seen = await world.observer.engine.inspector.inspect(id, { result: false });
    return seen !== null && isOutcome(seen.state);
  }, DRAIN_MS);
  const tookS = (performance.now() - over) / 1000;
  await callers.collect(subject);
  return tookS;
}
