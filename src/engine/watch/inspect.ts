import { SHARED } from "../../store/constants.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { QueueSnapshot } from "../../store/line/snapshot.ts";
import type { CancelVerdict } from "../../store/task/actions.ts";
import type { AttendVerdict } from "../../store/task/deadlines.ts";
import type { InspectAnswer, InspectItem } from "../../store/task/inspect.ts";
import type { TaskRecord } from "../../store/task/record.ts";
import { decodeResult, hasHead } from "../../store/task/record.ts";
import { isOutcome, type Result } from "../../task.ts";
import type { Eta } from "../../wire/task.ts";
import { Batch } from "../calls/batch.ts";
import type { Call } from "../calls/calls.ts";
import { groupAddress, type Homes } from "../calls/homes.ts";
import { LARGE_DEFAULTS, type LargeValues } from "../calls/large-values.ts";
import { estimate } from "../estimates/estimate.ts";

/** A snapshot of a task and its place in line. */
export interface Inspection extends TaskRecord {
  readonly id: string;
  /** When the snapshot was taken, on Redis's clock. */
  readonly nowMs: number;
  /** `index` plus the running tasks: all the work in front of it; 0 while running; null without a place in line. */
  readonly ahead: number | null;
  readonly snapshot: QueueSnapshot;
  readonly eta: Eta | null;
  /** Finished, and the result has expired. */
  readonly expired: boolean;
  /** Why it was canceled, if not by a caller: its deadline passed, or nobody looked at it. */
  readonly canceledBy: "deadline" | "abandoned" | null;
}

/** The end of a task, with the members that an answer needs. */
export type TaskEnd = Pick<
  Inspection,
  | "id"
  | "queue"
  | "state"
  | "nowMs"
  | "attempts"
  | "finishedMs"
  | "expiresMs"
  | "expired"
  | "deleted"
  | "canceledBy"
  | "result"
>;

/** A task as it is read; null if it is unknown. */
interface FoundTask {
  readonly row: TaskRecord | null;
  readonly snapshot: QueueSnapshot | null;
  readonly nowMs: number;
}

/** What to read in addition to the task itself. */
export interface InspectOptions {
  /** Read its result, and the latest errors if it failed. */
  readonly result: boolean;
  /**
   * Whether the caller may see the result: if not, it is not read, since the time to read it would reveal its size. Default:
   * yes.
   */
  allowed?(task: Inspection): boolean;
  /** Whether this look counts for the presence of the task. Default: no. */
  attends?(task: Inspection): boolean;
  /** A longer result is not read, and is null. Default: no limit. */
  readonly maxBytes?: number;
  /** Read only the beginning of a long result, and the rest on demand: see {@link Result.rest}. Default: no. */
  readonly inPieces?: boolean;
  /** Add this process to the task's record, so that it is notified of every later change: see {@link Notices}. Default: no. */
  readonly listen?: boolean;
}

const CANCELED_BY: Readonly<Record<string, Inspection["canceledBy"]>> = {
  [SHARED.deadlinePassed]: "deadline",
  [SHARED.abandoned]: "abandoned",
};

/** How often a task is read again if it has changed in the meantime. */
const LOOKS = 3;

/** A task that somebody has looked at. */
type Attended = Pick<Inspection, "id" | "queue" | "presenceMs" | "deadlineMs" | "group">;

/** Reads tasks. Reads of one turn of the event loop are sent together. */
export class Inspector {
  readonly #homes: Homes;
  readonly #keys: Keys;
  readonly #values: LargeValues;
  readonly #call: Call;
  readonly #looks: Batch<InspectItem, FoundTask>;
  /** Looks that add this process to the listeners of a task. */
  readonly #watches: Batch<InspectItem, FoundTask>;

  /** @param process the name of this process in records */
  constructor(scripts: Scripts, keys: Keys, homes: Homes, values: LargeValues, call: Call, process: string) {
    this.#homes = homes;
    this.#keys = keys;
    this.#values = values;
    this.#call = call;
    this.#looks = batchOf((partition, items) => scripts.inspect(keys.tag(partition), items));
    this.#watches = batchOf((partition, items) => scripts.watch(keys.tag(partition), process, items));
  }

  /**
   * The task, or null if it is unknown.
   * @throws ProblemError store-unavailable
   */
  async inspect(id: string, options: InspectOptions): Promise<Inspection | null> {
    for (let looks = 1; ; looks += 1) {
      const batch = options.listen ? this.#watches : this.#looks;
      const look = (partition: number) => batch.add(partition, { id, result: options.result });
      const { row, snapshot, nowMs } = await this.#homes.at(id, look, (found) => found.row === null);
      if (!row || !snapshot) return null;
      const { resultBytes } = row;
      const without = view(id, row, snapshot, nowMs);
      if (isKeptByLooks(without) && options.attends?.(without)) {
        // The next look stores it; the task was read anyway.
        const verdict = await this.attend(without).catch(() => null);
        if (verdict === "kept") return { ...without, presentUntilMs: keptUntil(without, nowMs) };
        // It has ended in the meantime.
        if (verdict !== null && looks < LOOKS) continue;
      }
      if (resultBytes === 0 || resultBytes > (options.maxBytes ?? resultBytes)) return without;
      if (options.allowed && !options.allowed(without)) return without;
      const home = this.#keys.partitionOfQueue(row.queue);
      if (options.inPieces && row.state === "succeeded" && resultBytes > LARGE_DEFAULTS.pieceBytes) {
        const begun = await this.#begin(id, resultBytes, home);
        if (begun) return { ...without, result: begun };
      }
      const result = await this.#values.read("result", id, resultBytes, home);
      if (result?.length === resultBytes) return { ...without, result: decodeResult(result) };
      // The result is gone or was replaced: return the task without it, or read it again.
      if (looks === LOOKS) return without;
    }
  }

  /**
   * Cancels a task, or deletes the result of one that has ended. Returns also the task as it was right then; null if it is unknown.
   * @throws ProblemError store-unavailable
   */
  async cancel({
    id,
    queue,
  }: Pick<Inspection, "id" | "queue">): Promise<{ verdict: CancelVerdict; seen: Inspection | null }> {
    const { verdict, row, snapshot, nowMs } = await this.#call("cancelAndInspect", { id, queue });
    return { verdict, seen: row && snapshot && view(id, row, snapshot, nowMs) };
  }

  /** Somebody has looked at a task with a presence; a member of a group has that of the group. @throws ProblemError store-unavailable */
  attend({ id, queue, presenceMs, deadlineMs, group }: Attended): Promise<AttendVerdict> {
    const address = group === null ? { id, deadlineMs } : { id: groupAddress(group), deadlineMs: null };
    return this.#call("attend", { ...address, queue, presenceMs });
  }

  /** A long result that is read in pieces; null if it is gone, or its headers alone fill a piece. */
  async #begin(id: string, bytes: number, home: number): Promise<Result | null> {
    const begun = await this.#values.begin("result", id, bytes, home);
    return begun && hasHead(begun.start) ? { ...decodeResult(begun.start), rest: begun.rest } : null;
  }
}

function batchOf(
  look: (partition: number, items: readonly InspectItem[]) => Promise<InspectAnswer>,
): Batch<InspectItem, FoundTask> {
  return new Batch({
    send: async (partition, items) => {
      const { nowMs, snapshots, tasks } = await look(partition, items);
      const byQueue = new Map(snapshots.map((snapshot) => [snapshot.queue, snapshot]));
      return tasks.map((row) => ({ row, nowMs, snapshot: row && (byQueue.get(row.queue) ?? null) }));
    },
  });
}

function view(id: string, task: TaskRecord, snapshot: QueueSnapshot, nowMs: number): Inspection {
  const terminal = isOutcome(task.state);
  const { state, index, expiresMs, errorCode } = task;
  return {
    ...task,
    id,
    nowMs,
    ahead: state === "waiting" && index !== null ? index + snapshot.running : index,
    snapshot,
    eta: terminal ? null : estimate(snapshot, task, nowMs),
    presentUntilMs: terminal && task.group === null ? null : task.presentUntilMs,
    expired: terminal && !task.deleted && expiresMs !== null && expiresMs <= nowMs,
    canceledBy: state === "canceled" ? (CANCELED_BY[errorCode ?? ""] ?? null) : null,
  };
}

type PresenceFacts = Pick<
  TaskRecord,
  "state" | "cancelRequested" | "presenceMs" | "presentUntilMs" | "deadlineMs" | "group"
>;

/** A presence is divided into this many parts; callers are asked to look once in each. */
const PRESENCE_PARTS = 3;

/** Whether a look at a task keeps it for longer, and so has to be stored. */
export function isKeptByLooks(task: PresenceFacts): boolean {
  const { presenceMs, presentUntilMs, group, deadlineMs } = task;
  if (presenceMs === null) return false;
  // A group is there for its other members, too.
  if (group !== null) return true;
  if (task.cancelRequested || isOutcome(task.state)) return false;
  return presentUntilMs === null || presentUntilMs !== deadlineMs;
}

/** Until when a look keeps a task, ms. */
export function keptUntil({ presenceMs, deadlineMs, group }: PresenceFacts, nowMs: number): number {
  const until = nowMs + (presenceMs ?? 0);
  return group === null ? Math.min(until, deadlineMs ?? Number.POSITIVE_INFINITY) : until;
}

/** How long a caller may wait until the next look, so that the task is kept, seconds; infinity without a presence. */
export function longestPauseS(presenceMs: number | null): number {
  return presenceMs === null ? Number.POSITIVE_INFINITY : Math.floor(presenceMs / PRESENCE_PARTS / 1000);
}
