import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isOutcome } from "../src/task.ts";
import { submissionOf } from "../test/shared/submission.ts";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { type BuiltEngine, openBuiltEngine } from "./harness/built.ts";
import { type ServerSubject, startPaihao } from "./harness/process.ts";
import { type BenchStore, openStore } from "./harness/store.ts";
import { percentile } from "./harness/turns.ts";

const HANDLERS = path.join(import.meta.dirname, "handlers/recovery");
const WORKERS = 3;
const LEASE_MS = 3000;
/** Losses that a task survives by default. */
const MAX_LOST = 3;
/** One worker is killed while this many tasks run, each of which takes this long, ms. */
const ONCE = { tasks: 12, ms: 3000, times: 10, quickTimes: 2 } as const;
/** Workers are killed one after the other while this many tasks arrive, each of which takes this long, ms. */
const AGAIN = { tasks: 800, ms: 300, everyMs: 1000, kills: 120, quickKills: 15, runs: 3 } as const;
/** How often it is checked whether a kill or a start is due, ms. */
const CHECK_MS = 100;
/** Maximum number of workers that start at once: more would only slow each other down. */
const MAX_STARTING = 8;
/** How long after the last kill everything must have ended, ms. */
const DRAIN_MS = 180_000;

/** When tasks that were cut off by the death of their worker run again. */
export const recovery: Bench = {
  name: "recovery",
  title: "From the death of a worker (kill -9) until its tasks run again, lease 3 s, 3 workers",
  async run(options) {
    const store = await openStore("no persistence");
    const dir = mkdtempSync(path.join(tmpdir(), "paihao-recovery-"));
    const journal = path.join(dir, "journal");
    try {
      const once: number[] = [];
      const times = options.quick ? ONCE.quickTimes : ONCE.times;
      for (let n = 0; n < times; n += 1) once.push(...(await killOnce(store, journal, options)));
      const again: KilledAgain[] = [];
      const runs = options.quick ? 1 : AGAIN.runs;
      for (let n = 0; n < runs; n += 1) again.push(await killAgain(store, `${journal}-${n}`, options));
      const total = (of: (run: KilledAgain) => number) => again.reduce((sum, run) => sum + of(run), 0);
      return {
        figures: [
          ...figuresOf("one worker killed", once, LEASE_MS + 2000),
          ...again.flatMap((run, n) => [
            // With fewer kills the next figures say little.
            perSecond(`run ${n + 1}: workers killed a second`, run.killsPerSecond, 0.9),
            ...figuresOf(`run ${n + 1}: a worker killed every second`, run.recoveryMs, LEASE_MS + 5000),
          ]),
          count(
            "tasks dead although cut off no more often than a task survives",
            total(({ wronged }) => wronged),
            0,
          ),
          count(
            "tasks condemned",
            total(({ condemned }) => condemned),
            0,
          ),
          count(
            "tasks not finished",
            total(({ open }) => open),
            0,
          ),
        ],
        notes: [
          `One killed: ${times} times, each time with fresh processes and an empty store, while ${ONCE.tasks} tasks of ${ONCE.ms} ms ran. ` +
            `Every second, in each of ${runs} runs: ${again.map(({ tasks, kills }) => `${tasks} tasks of ${AGAIN.ms} ms and ${kills} kills`).join(", ")}; ` +
            `${again.map(({ workers }) => workers.toFixed(1)).join(", ")} workers were there on average, of which ${WORKERS} were needed.`,
        ],
      };
    } finally {
      await store.stop();
      rmSync(dir, { recursive: true });
    }
  },
};

function figuresOf(words: string, recoveryMs: readonly number[], atMostMs: number): Figure[] {
  const figure = (share: number, target: Figure["target"]): Figure => ({
    figure: `${words}, p${share * 100}`,
    ...{ against: "–", store: "no persistence", ours: `${recoveryMs.length} runs`, theirs: "" },
    ...{ value: percentile(recoveryMs, share), unit: "ms", target },
  });
  return [figure(0.5, null), figure(0.99, { atMost: atMostMs })];
}

function count(words: string, value: number, atMost: number | null): Figure {
  const target = atMost === null ? null : { atMost };
  return { figure: words, against: "–", store: "no persistence", ours: "", theirs: "", value, unit: "", target };
}

function perSecond(words: string, value: number, atLeast: number): Figure {
  const common = { against: "–", store: "no persistence", ours: "", theirs: "" } as const;
  return { figure: words, ...common, value, unit: "/s", target: { atLeast } };
}

const startWorker = (store: BenchStore) =>
  startPaihao({ ROLE: "worker", REDIS_URL: store.url, HANDLERS, LOG_LEVEL: "silent" });
const startWorkers = (store: BenchStore) => Promise.all(Array.from({ length: WORKERS }, () => startWorker(store)));
const openEngine = (store: BenchStore) =>
  openBuiltEngine(store.url, "ph", [{ queue: "lossy", concurrency: 8, run: () => undefined }]);

async function submit({ engine }: BuiltEngine, id: string, input: object): Promise<string> {
  const submission = submissionOf(id, "lossy", JSON.stringify(input));
  await engine.submitter.submit(submission, engine.queues.settings("lossy"));
  return id;
}

/** A run of a handler. */
interface Run {
  readonly id: string;
  readonly pid: number;
  readonly parent: number;
  readonly beganAt: number;
  ended: boolean;
}

/** The runs that the handlers recorded, in the order in which they began. */
function runsOf(journal: string): Run[] {
  const runs: Run[] = [];
  for (const line of readFileSync(journal, { encoding: "utf8", flag: "a+" }).split("\n").slice(0, -1)) {
    const [id = "", what, pid, parent, at] = line.split(" ");
    const ended = runs.find((run) => run.id === id && run.pid === Number(pid) && !run.ended);
    if (what === "begins")
      runs.push({ id, pid: Number(pid), parent: Number(parent), beganAt: Number(at), ended: false });
    else if (ended) ended.ended = true;
  }
  return runs;
}

/** The time from each death until the tasks that it cut off ran again. A child process dies with its worker. */
function recoveries(runs: readonly Run[], killedAt: ReadonlyMap<number, number>): { id: string; ms: number }[] {
  return runs.flatMap(({ id, pid, parent, ended }, n) => {
    const died = ended ? undefined : (killedAt.get(pid) ?? killedAt.get(parent));
    if (died === undefined) return [];
    const next = runs.slice(n + 1).find((run) => run.id === id);
    return [{ id, ms: next ? next.beganAt - died : Number.POSITIVE_INFINITY }];
  });
}

async function killOnce(store: BenchStore, journal: string, { say }: BenchOptions): Promise<number[]> {
  await store.clear();
  rmSync(journal, { force: true });
  const built = await openEngine(store);
  const workers = await startWorkers(store);
  try {
    const tasks = Array.from({ length: ONCE.tasks }, (_, n) => submit(built, `once-${n}`, { ms: ONCE.ms, journal }));
    await Promise.all(tasks);
    while (runsOf(journal).length < ONCE.tasks) await delay(20);
    const heldBy = (pid: number) => runsOf(journal).filter((run) => run.pid === pid).length;
    const [victim] = [...workers].sort((a, b) => heldBy(b.pid) - heldBy(a.pid));
    if (!victim) throw new Error("there is no worker");
    const killedAt = new Map([[victim.pid, Date.now()]]);
    process.kill(victim.pid, "SIGKILL");
    workers.push(await startWorker(store));
    const cutOff = heldBy(victim.pid);
    while (recoveries(runsOf(journal), killedAt).some(({ ms }) => ms === Number.POSITIVE_INFINITY)) await delay(50);
    const all = recoveries(runsOf(journal), killedAt).map(({ ms }) => ms);
    say(`one killed: ${cutOff} runs cut off, run again after ${Math.min(...all)} to ${Math.max(...all)} ms`);
    return all;
  } finally {
    await endAllOf(workers);
    built.close();
  }
}

/** A run in which workers are killed again and again. */
interface KilledAgain {
  readonly recoveryMs: readonly number[];
  readonly tasks: number;
  readonly kills: number;
  readonly killsPerSecond: number;
  /** How many were there, on average. */
  readonly workers: number;
  readonly open: number;
  readonly condemned: number;
  readonly wronged: number;
}

async function killAgain(store: BenchStore, journal: string, { quick, say }: BenchOptions): Promise<KilledAgain> {
  await store.clear();
  const built = await openEngine(store);
  const fleet = new Fleet(store);
  const [kills, ids]: [number, string[]] = [quick ? AGAIN.quickKills : AGAIN.kills, []];
  const tasks = Math.round((AGAIN.tasks * kills) / AGAIN.kills);
  const forMs = kills * AGAIN.everyMs;
  try {
    await fleet.start();
    const begun = performance.now();
    const until = (ms: number) => delay(begun + ms - performance.now());
    const submitting = (async () => {
      for (let n = 0; n < tasks; n += 1) {
        await until((n * forMs) / tasks);
        ids.push(await submit(built, `again-${n}`, { ms: AGAIN.ms, journal }));
      }
    })();
    for (let ms = 0; ms < forMs; ms = performance.now() - begun) {
      fleet.go(Math.floor(ms / AGAIN.everyMs));
      await delay(CHECK_MS);
    }
    const seconds = (performance.now() - begun) / 1000;
    await submitting;
    const { killedAt } = fleet;
    const killsPerSecond = killedAt.size / seconds;
    say(`${killedAt.size} workers killed in ${Math.round(seconds)} s, ${ids.length} tasks`);
    const open = await drained(built, ids);
    const runs = runsOf(journal);
    const all = recoveries(runs, killedAt);
    const failed: string[] = [];
    for (const id of ids) {
      const seen = await built.engine.inspector.inspect(id, { result: false });
      if (seen?.state === "failed") failed.push(id);
    }
    // A run that had ended counts too: if its end had been stored, the task would not be dead.
    const cutOff = (id: string) =>
      runs.filter((run) => run.id === id && (killedAt.has(run.pid) || killedAt.has(run.parent))).length;
    return {
      // A dead task does not run again.
      recoveryMs: all.filter(({ id, ms }) => Number.isFinite(ms) || !failed.includes(id)).map(({ ms }) => ms),
      ...{ tasks: ids.length, kills: killedAt.size, killsPerSecond, workers: fleet.average },
      ...{ open: open.length, condemned: failed.length },
      wronged: failed.filter((id) => cutOff(id) <= MAX_LOST).length,
    };
  } finally {
    await fleet.end();
    built.close();
  }
}

/**
 * Workers that are killed one after the other. While a process starts, others are killed; that many are started ahead, so that some workers
 * are always there, however slow the machine is.
 */
class Fleet {
  /** When each was killed. */
  readonly killedAt = new Map<number, number>();
  readonly #store: BenchStore;
  readonly #ready: ServerSubject[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  #startMs = AGAIN.everyMs;
  #looks = 0;
  #seen = 0;

  constructor(store: BenchStore) {
    this.#store = store;
  }

  /** How many were there on average. */
  get average(): number {
    return this.#seen / Math.max(1, this.#looks);
  }

  /** Starts all that are needed at first. */
  async start(): Promise<void> {
    await Promise.all(Array.from({ length: WORKERS }, () => this.#startOne()));
    while (this.#ready.length < this.#wanted) await this.#startOne();
  }

  /** Starts and kills those that are due. @param kills how many should have been killed by now */
  go(kills: number): void {
    this.#looks += 1;
    this.#seen += this.#ready.length;
    while (this.#starting.size < MAX_STARTING && this.#ready.length + this.#starting.size < this.#wanted) {
      // If it does not start, another one does at the next look.
      this.#startOne().catch(() => undefined);
    }
    // Without any worker, nothing can run again.
    while (this.killedAt.size < kills && this.#ready.length > 1) {
      const oldest = this.#ready.shift();
      if (!oldest) return;
      this.killedAt.set(oldest.pid, Date.now());
      process.kill(oldest.pid, "SIGKILL");
    }
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#starting);
    await endAllOf(this.#ready);
  }

  get #wanted(): number {
    return WORKERS + Math.ceil(this.#startMs / AGAIN.everyMs);
  }

  async #startOne(): Promise<void> {
    const begun = performance.now();
    const starting = startWorker(this.#store);
    this.#starting.add(starting);
    try {
      this.#ready.push(await starting);
    } finally {
      this.#starting.delete(starting);
    }
    this.#startMs += (performance.now() - begun - this.#startMs) / 4;
  }
}

/** Waits until all have ended; returns those that have not. */
async function drained({ engine }: BuiltEngine, ids: readonly string[]): Promise<readonly string[]> {
  let open = ids;
  for (const until = performance.now() + DRAIN_MS; open.length > 0 && performance.now() < until; await delay(100)) {
    const seen = await Promise.all(open.map((id) => engine.inspector.inspect(id, { result: false })));
    open = open.filter((_, n) => !isOutcome(seen[n]?.state ?? "waiting"));
  }
  return open;
}

/** Does not wait for what they run. */
async function endAllOf(workers: readonly ServerSubject[]): Promise<void> {
  for (const { pid, stop } of workers) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
    await stop();
  }
}
