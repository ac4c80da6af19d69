import { isInternalQueue } from "../../handler/internal-queues.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import { BATCH_LIMIT } from "../../store/library/verb.ts";
import type { SlotBatch } from "../../store/line/snapshot.ts";
import type { HeartbeatAnswer } from "../../store/line/worker.ts";
import { runOf, workerEnd } from "../../store/task/record.ts";
import { queueBatches } from "../calls/homes.ts";
import { pageOf } from "../watch/pages.ts";

/** Maximum number of workers, and of running tasks, that are read for a queue. */
const MAX = 200;
/** Maximum number of queues in one call. */
const QUEUES = 10;

/** What a worker reports about itself with its heartbeats. */
export interface AboutWorker {
  /** A process of this server, or a program that leases tasks over HTTP. */
  readonly kind: "process" | "remote";
  readonly host?: string;
  readonly pid?: number;
  readonly role?: string;
  readonly version?: string;
  /** The version of its handlers. */
  readonly app?: string;
  readonly startedMs?: number;
}

/** A task that a worker has. */
interface RunningTask {
  readonly id: string;
  readonly queue: string;
  readonly startedMs: number | null;
  readonly attempt: number;
}

/** A worker, and its running tasks. */
export interface WorkerRow {
  readonly id: string;
  /** Null if it has tasks, but has sent no heartbeat lately; then only the end of its name is known. Null as well if a lost one said nothing. */
  readonly about: AboutWorker | null;
  readonly seenMs: number | null;
  readonly slots: ReadonlyMap<string, number>;
  /** Whether it is to take no more work. */
  readonly quiet: boolean;
  readonly running: readonly RunningTask[];
  /** When it was found lost, ms; null for one that is there. */
  readonly lostMs: number | null;
}

/** The workers of all processes, as they report themselves. */
export class Workers {
  readonly #parts: { readonly scripts: Scripts; readonly keys: Keys };

  constructor(parts: { readonly scripts: Scripts; readonly keys: Keys }) {
    this.#parts = parts;
  }

  /**
   * Reports that a worker is alive, with its slots for each queue and what it says about itself.
   * @param ttlMs how long this is valid; 0 removes the worker
   * @param options.batches of queues whose slots have one call with several tasks
   * @param options.again the same was reported before
   * @param options.quiet it takes no more work since it was told so, which the store may have lost
   */
  async heartbeat(
    worker: string,
    ttlMs: number,
    slots: ReadonlyMap<string, number>,
    {
      about,
      again = false,
      quiet = false,
      batches,
    }: {
      readonly about?: AboutWorker;
      readonly again?: boolean;
      readonly quiet?: boolean;
      readonly batches?: ReadonlyMap<string, SlotBatch> | undefined;
    } = {},
  ): Promise<HeartbeatAnswer> {
    const { scripts, keys } = this.#parts;
    const text = about === undefined ? "" : JSON.stringify(about);
    const event = presenceEvent(worker, ttlMs, slots, about);
    const presence = { worker, ttlMs, remote: about?.kind === "remote", about: text, event };
    // Only the list of what happened depends on it.
    const noted = scripts.present(keys.tag(0), presence).catch(() => undefined);
    const heard = await Promise.all(
      queueBatches(keys, slots.keys(), BATCH_LIMIT).map(({ tag, queues }) => {
        const some = new Map(queues.map((queue) => [queue, slots.get(queue) ?? 0]));
        return scripts.heartbeat(tag, { worker, ttlMs, about: text, again, quiet, slots: some, batches });
      }),
    );
    await noted;
    return {
      quiet: heard.some(({ quiet }) => quiet),
      concurrency: new Map(heard.flatMap(({ concurrency }) => [...concurrency])),
    };
  }

  /** Tells a live worker to take no more work, or to take it again; false if there is no such worker. @throws ProblemError store-unavailable */
  async quiet(id: string, quiet: boolean, queues: readonly string[]): Promise<boolean> {
    const { scripts, keys } = this.#parts;
    const found = (await this.list(queues)).workers.find((worker) => worker.id === id && worker.slots.size > 0);
    if (!found) return false;
    const batches = queueBatches(keys, found.slots.keys(), BATCH_LIMIT);
    await Promise.all(batches.map(({ tag, queues: some }) => scripts.quiet(tag, { worker: id, quiet, queues: some })));
    return true;
  }

  /** The workers of queues, with their tasks, up to a limit for each queue. @throws ProblemError store-unavailable */
  async list(queues: readonly string[]): Promise<{ workers: readonly WorkerRow[]; truncated: boolean }> {
    const { scripts, keys } = this.#parts;
    const rows = new Map<
      string,
      { about: AboutWorker | null; seenMs: number | null; slots: Map<string, number>; quiet: boolean }
    >();
    let truncated = false;
    for (const { tag, queues: some } of queueBatches(keys, queues, QUEUES)) {
      const { nowMs, slots, abouts } = await scripts.workers(tag, { queues: some, max: MAX });
      truncated ||= abouts.length >= MAX;
      for (const { worker, about, leftMs } of abouts) {
        if (!rows.has(worker)) rows.set(worker, { ...aboutOf(about, nowMs, leftMs), slots: new Map(), quiet: false });
      }
      for (const { queue, worker, slots: count, quiet } of slots) {
        const row = rows.get(worker);
        row?.slots.set(queue, count);
        if (row && quiet) row.quiet = true;
      }
    }
    const read = await this.#runningTasks(queues);
    const { running } = read;
    truncated ||= read.truncated;
    const workers: WorkerRow[] = [];
    for (const [id, row] of rows) {
      const end = workerEnd(id);
      workers.push({ id, ...row, running: running.get(end) ?? [], lostMs: null });
      running.delete(end);
    }
    for (const [id, tasks] of running)
      workers.push({ id, about: null, seenMs: null, slots: new Map(), quiet: false, running: tasks, lostMs: null });
    for (const { id, about, lostMs } of await scripts.lostWorkers(keys.tag(0), {}))
      workers.push({
        id,
        about: saidOf(about) ?? null,
        seenMs: null,
        slots: new Map(),
        quiet: false,
        running: [],
        lostMs,
      });
    return { workers, truncated };
  }

  /** The tasks that each worker has, by the end of its name. @throws ProblemError store-unavailable */
  async tasksByEnd(queues: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const { running } = await this.#runningTasks(queues);
    return new Map([...running].map(([worker, tasks]) => [worker, tasks.map(({ id }) => id)]));
  }

  /** Running tasks by the ends of their workers' names, up to a limit for each queue. */
  async #runningTasks(queues: readonly string[]) {
    const { scripts, keys } = this.#parts;
    const running = new Map<string, RunningTask[]>();
    let truncated = false;
    for (const queue of queues) {
      const page = await pageOf(scripts, keys, "leases", { queue, after: null, limit: MAX });
      truncated ||= page.next !== null;
      for (const { id, run } of page.entries) {
        const { startedMs, attempts, worker } = runOf(run);
        const tasks = running.get(worker) ?? [];
        tasks.push({ id, queue, startedMs, attempt: attempts });
        running.set(worker, tasks);
      }
    }
    return { running, truncated };
  }
}

/** Parses "ttl JSON", given how much of the TTL is left; a program that leases tasks may have reported nothing. */
function aboutOf(stored: string, nowMs: number, leftMs: number): { about: AboutWorker; seenMs: number | null } {
  const space = stored.indexOf(" ");
  const ttlMs = Number(stored.slice(0, space));
  const about = space < 0 ? undefined : saidOf(stored.slice(space + 1));
  return { about: about ?? { kind: "remote" }, seenMs: about ? nowMs - Math.max(0, ttlMs - leftMs) : null };
}

/** What a worker has said about itself. */
function saidOf(json: string): AboutWorker | undefined {
  return json === "" ? undefined : (JSON.parse(json) as AboutWorker);
}

/** That a worker has started, or stopped, as it is kept. */
function presenceEvent(worker: string, ttlMs: number, slots: ReadonlyMap<string, number>, about?: AboutWorker): string {
  if (ttlMs === 0) return JSON.stringify({ kind: "worker-stopped", worker });
  const queues = [...slots.keys()].filter((queue) => !isInternalQueue(queue));
  const detail = `${about?.kind === "process" ? "" : "over HTTP; "}queues ${queues.slice(0, 10).join(", ")}`;
  return JSON.stringify({ kind: "worker-started", worker, detail });
}
