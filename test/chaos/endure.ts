import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { verify } from "../../src/engine/maintenance/verify.ts";
import { stateOf } from "../../src/store/letters.ts";
import { isOutcome } from "../../src/task.ts";
import { BUSY_MS } from "../helpers/busy.ts";
import { storedKey } from "../helpers/store/stored.ts";
import { eventually } from "../shared/eventually.ts";
import { check } from "./history/check.ts";
import { type HistoryEntry, historyOf } from "./history/history.ts";
import { Load, type LoadOptions } from "./load.ts";
import type { World } from "./world.ts";

/** A fault. */
export interface Fault {
  readonly name: string;
  /** Causes the fault under load, and resolves when it is over: from then on everything must recover by itself. */
  strike(world: World, load: Load): Promise<Aftermath>;
  /** Whether the store may go on with an older state: then a task may end twice. */
  readonly forks?: boolean;
}

/** What happens after a fault is over. */
interface Aftermath {
  /** What to wait for, besides a new task that ends, before recovery counts as complete. */
  recovered?(): Promise<unknown>;
  /** What to do or check after recovery. */
  afterwards?(): Promise<unknown>;
}

/** The outcome of a fault. */
export interface Row {
  readonly fault: string;
  readonly accepted: number;
  /** Tasks that were accepted and never finished. */
  readonly lost: number;
  readonly executions: number;
  /** From the end of the fault until a task that was submitted after it had finished. */
  readonly recoveryS: number;
}

/** An API answers within this time, whatever the store does. */
const ANSWER_MS = 5000 + BUSY_MS;
/** A store that is back is used again within this time. */
const RECOVERY_S = 30;
/** Tasks accepted before a fault strikes, and after it is over. */
const AROUND = 40;
/** After a fault every task finishes within this time. */
const DRAIN_MS = 60_000;
const QUEUES = ["work", "keyed", "neighbor", "innocent", "pill", "paihao.undo", "paihao.webhooks"];

/** Causes one fault after the other under load, and checks every promise afterwards. @throws AssertionError */
export async function endure(world: World, faults: readonly Fault[], options: LoadOptions): Promise<Row> {
  const load = new Load(world, options);
  const earlier = world.journal.marks().length;
  const endings = await countEndings(world);
  try {
    load.start();
    const recoveryS = await strikeAll(world, load, faults).finally(() => load.stop());
    await allFinished(world, load);
    await load.recorder.askAtTheEnd();
    const history = [...load.recorder.entries, ...world.journal.marks().slice(earlier)];
    const row = await accounts(world, load, { name: faults.map((fault) => fault.name).join(" + "), recoveryS });
    const twice = [...endings.counts].filter(([id, count]) => load.accepted.has(id) && count > 1);
    if (!faults.some((fault) => fault.forks)) expect(twice, "tasks with more than one outcome").to.deep.equal([]);
    expect(row.lost, "tasks that were accepted and lost").to.equal(0);
    holdPromises(history);
    expect(load.slowestMs, "longest wait for an answer").to.be.below(ANSWER_MS);
    expect(recoveryS, "seconds until all went on").to.be.below(RECOVERY_S);
    return row;
  } finally {
    endings.stop();
  }
}

/** Writes a history that breaks a promise to a file, which `--check` of main.ts reads. @throws AssertionError */
function holdPromises(history: readonly HistoryEntry[]): void {
  const broken = check(historyOf(history));
  if (broken.length === 0) return;
  const file = path.join(tmpdir(), `paihao-history-${Date.now()}.ndjson`);
  writeFileSync(file, history.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  expect(broken.slice(0, 5), `${broken.length} broken promises, of the history in ${file}`).to.deep.equal([]);
}

/** Returns the longest time, in seconds, from the end of a fault until all has recovered from it. */
async function strikeAll(world: World, load: Load, faults: readonly Fault[]): Promise<number> {
  let recoveryS = 0;
  await load.more(AROUND);
  for (const fault of faults) {
    const { recovered, afterwards } = await fault.strike(world, load);
    const over = performance.now();
    await Promise.all([recovered?.(), probe(world, load)]);
    recoveryS = Math.max(recoveryS, (performance.now() - over) / 1000);
    await afterwards?.();
  }
  await load.more(AROUND);
  return recoveryS;
}

/** Submits tasks until one is accepted, and waits for its end: then everything works again. */
async function probe(world: World, load: Load): Promise<void> {
  const id = `probe-${performance.now()}`.replace(".", "-");
  while ((await load.submit(id, "work", { ms: 0 })) !== "accepted")
    await delay(20, undefined, { signal: world.ending });
  await eventually(async () => {
    const seen = await world.observer.engine.inspector.inspect(id, { result: false });
    return seen !== null && isOutcome(seen.state);
  }, DRAIN_MS);
}

/** Every accepted task has finished, and nothing is left in any line, of refused submissions either. */
async function allFinished(world: World, load: Load): Promise<void> {
  const { engine, redis, keys } = world.observer;
  let open = [...load.accepted];
  await eventually(async () => {
    const seen = await Promise.all(open.map((id) => engine.inspector.inspect(id, { result: false })));
    open = open.filter((_, n) => !isOutcome(seen[n]?.state ?? "waiting"));
    expect(open.slice(0, 5), `${open.length} tasks that do not finish`).to.deep.equal([]);
  }, DRAIN_MS);
  await eventually(async () => {
    for (const queue of QUEUES) {
      const sizes = await Promise.all(
        (["waiting", "scheduled", "leases"] as const).map((index) =>
          redis.zcard(keys.index(keys.tag(0), index, queue)),
        ),
      );
      expect(sizes, `waiting, scheduled and running in ${queue}`).to.deep.equal([0, 0, 0]);
    }
  }, DRAIN_MS);
}

async function accounts(world: World, load: Load, { name, recoveryS }: { name: string; recoveryS: number }) {
  const { engine, redis, scripts, keys } = world.observer;
  const executions = world.journal.executions().filter(({ id }) => load.accepted.has(id)).length;
  const all = await Promise.all([...load.accepted].map((id) => engine.inspector.inspect(id, { result: false })));
  const lost = all.filter((seen) => seen?.state !== "succeeded").length;
  const report = await verify(redis, scripts, keys, { heal: false });
  expect(report.disagreeing, "tasks that disagree with their index").to.deep.equal([]);
  return { fault: name, accepted: load.accepted.size, lost, executions, recoveryS };
}

/** Counts the terminal states that were reported for each task. */
async function countEndings(world: World): Promise<{ counts: Map<string, number>; stop(): void }> {
  const counts = new Map<string, number>();
  const prefix = storedKey(world.observer.keys.tag(0), "notices", "");
  const listener = world.watch();
  listener.on("pmessage", (_: string, channel: string, message: string) => {
    const id = channel.slice(prefix.length);
    if (isOutcome(stateOf(message) ?? "waiting")) counts.set(id, (counts.get(id) ?? 0) + 1);
  });
  await listener.psubscribe(`${prefix}*`);
  return { counts, stop: () => listener.disconnect() };
}
