import type { State } from "../../task.ts";
import type { Index } from "../keys.ts";
import type { Line, TaskRow } from "./rows.ts";

/** A task as submit.lua takes it. */
export interface SubmitItem {
  readonly id: string;
  readonly queue: string;
  /** 0 most urgent … 7. */
  readonly priority: number;
  readonly delayMs: number;
  readonly input: string | Buffer;
  /** 16 bytes as 32 hex digits for an input that is not stored in the hash, else "". */
  readonly digest: string;
  /** "" for application/json. */
  readonly mediaType: string;
  /** JSON, "" for none. */
  readonly query: string;
  readonly caller: string;
  /** Most tasks waiting and scheduled. */
  readonly limit: number;
  readonly maxIndex: number | null;
  readonly dryRun: boolean;
  /** URL that is told of the task's end, "" for none. */
  readonly webhook: string;
  /** What the task does can be undone. */
  readonly undo: boolean;
}
/** What became of it: see submit.lua. */
export type SubmitVerdict =
  | "new"
  | "replay"
  | "conflict"
  | "elsewhere"
  | "foreign"
  | "full"
  | "untold"
  | "long"
  | "dry";
/** What submit.lua answers of a task. */
export interface Submitted {
  readonly verdict: SubmitVerdict;
  readonly state: State | null;
  readonly index: number | null;
  /** The place in line as a score, for counting in other partitions. */
  readonly score: string;
  /** When the task was stored, be it by an earlier submission; 0 where there is none. */
  readonly createdMs: number;
}

/** An id to be kept for a task that is to come, as allocate.lua takes it. */
export interface AllocateItem {
  readonly id: string;
  /** What to remember with it. */
  readonly value: string;
  readonly ttlMs: number;
  readonly queue: string;
  /** Most tasks waiting and scheduled and ids handed out, together, of the partition. */
  readonly limit: number;
}
/** What became of it. */
export interface Allocated {
  readonly verdict: "kept" | "taken" | "full";
  /** Of the queue in this partition, where it is full; else 0. */
  readonly waiting: number;
  readonly scheduled: number;
}

/** A task that a worker has taken. */
export interface Reserved {
  readonly id: string;
  readonly fence: string;
  readonly attempt: number;
  readonly lost: number;
  /** How often it was reserved in vain since its last loss: its handler did not begin. */
  readonly unbegun: number;
  readonly createdMs: number;
  /** Null where it is long: it is read apart, see `inputOf` of the engine. */
  readonly input: Buffer | null;
  /** Its length where it is null; 0 where the store has none. */
  readonly inputBytes: number;
  readonly mediaType: string;
  readonly query: string;
  readonly caller: string;
}

/** Asks for permits to start tasks; see the script. */
export interface PermitRequest {
  readonly queue: string;
  /** Unique to a request for tasks of one partition; asked again, it has the permits that it had. */
  readonly request: string;
  readonly count: number;
  readonly rate: { readonly max: number; readonly perMs: number };
  /** How many tasks have started: the other permits are given back. */
  readonly used?: number;
}

/** What reserve.lua answers. */
export interface ReservedPart {
  readonly tasks: readonly Reserved[];
  /** Null while the queue is paused. */
  readonly waiting: number | null;
  /** For how long the rate allows no more. */
  readonly pauseMs: number;
  /** What became of the completions that went along. */
  readonly verdicts: readonly CompleteVerdict[];
  /** Null but for a request that is remembered by itself. */
  readonly part: Part | null;
}

/** A lease that a worker holds: what every verb of a running task must show. */
export interface Lease {
  readonly queue: string;
  readonly id: string;
  readonly fence: string;
}
/** A call that is answered the same when its command is sent again, as after a lost reply. */
export interface Call {
  /** A word that only this call has: letters and digits. */
  readonly call: string;
}
/** How long what is finished stays, ms. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
/** A task that has succeeded, with its result as it is stored. */
export interface Completion extends Lease, Retention {
  readonly result: string | Buffer;
}
/** What became of it: see complete.lua. */
export type CompleteVerdict = "done" | "canceled" | "already" | "stale" | "unknown";
/** What became of a change to a task that has not ended: see update.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown";

/** How a request asks that may be sent again while it is underway: see lua/lib/request.lua. */
export interface Asking {
  /** Tells those who send the same request from one another. */
  readonly holder: string;
  /** The generation that the first partition named; 0 asks for the next one. */
  readonly generation: number;
  /** The last generation that is known to be empty. */
  readonly after: number;
}
/** What a partition has decided for such a request. */
export interface Part {
  readonly generation: number;
  /** How many tasks it gave, also where they are held no more. */
  readonly given: number;
  /** It had been decided before. */
  readonly replayed: boolean;
}

/** What a worker asks for. */
export interface Reservation {
  readonly queue: string;
  readonly worker: string;
  /** Of a worker's requests for the queue, of which one may be underway at a time in each lane: 0, the usual one, or 1. */
  readonly lane?: number;
  /** In place of a lane: the request is remembered by itself, however many are underway. */
  readonly asked?: Asking;
  /** Unique to this request; sent again before another in its lane, it is answered with the same tasks. */
  readonly reservation: string;
  readonly count: number;
  readonly leaseMs: number;
  /** Most starts within a span, over all workers; undefined for any number. */
  readonly rate: { readonly max: number; readonly perMs: number } | undefined;
  /**
   * How long the worker has a suspect, a task that has lost a worker before, until it says that its handler begins, ms; left out, the
   * reservation counts as the beginning.
   */
  readonly suspectLeaseMs?: number;
}

/** What became of a failed attempt: see fail.lua. */
export type FailVerdict = "retrying" | "failed" | "dead" | "canceled" | "already" | "stale" | "unknown";
/** Another attempt after the backoff, one at a time the handler named, or none. */
export type FailKind = "retry" | "later" | "give-up";
/** An attempt that has failed, with the answer that is stored when it was the last. */
export interface FailItem extends Lease, Retention {
  readonly kind: FailKind;
  readonly attempts: number;
  readonly delayMs: number;
  readonly error: string;
  readonly code: string;
  readonly result: string | Buffer;
  /** How long it stays when it dies, ms. */
  readonly deadMs: number;
}

/** What became of a cancellation: see cancel.lua. */
export type CancelVerdict = "canceled" | "requested" | "destroyed" | "already" | "unknown";
/** What became of a task whose worker is known to be gone: see lose.lua. */
export type LoseVerdict = "waiting" | "released" | "dead" | "canceled" | "stale";
/** Whether a handler may begin: see begin.lua. */
export type BeginVerdict = "ok" | "cancel" | "stale";
/** What became of a dead task that an operator wants tried again: see retry.lua. */
export type RetryVerdict = "waiting" | "not-dead" | "undone" | "unknown";

/** The indexes that an operator can page through. */
export type PagedIndex = Exclude<Index, "scheduled">;
/** Where a task stands in an index. */
export interface Place {
  readonly id: string;
  readonly score: string;
}

/** A queue that the supervisor looks after, with what its lost tasks are given. */
export interface TickQueue extends Retention {
  readonly queue: string;
  readonly maxLost: number;
  readonly deadMs: number;
  /** Stored form of the answer of a task that dies of lost workers. */
  readonly problem: string | Buffer;
}
/** A task whose lease has expired. */
export interface LostTask {
  readonly queue: string;
  readonly id: string;
  readonly worker: string;
  readonly losses: number;
  readonly fate: Exclude<LoseVerdict, "stale">;
}
/** What one look of the supervisor has done. */
export interface Ticked {
  readonly promoted: number;
  /** Milliseconds until something is due; null when nothing is. */
  readonly nextMs: number | null;
  readonly lost: readonly LostTask[];
}

/** Some queues' figures and some tasks, all of the same instant. */
export interface Inspected {
  readonly nowMs: number;
  readonly lines: readonly Line[];
  readonly tasks: readonly (TaskRow | null)[];
}

/** Places in a queue of another partition. */
export interface Question {
  readonly queue: string;
  readonly scores: readonly string[];
  /** Whether what has the same score stands before a place. */
  readonly equals: boolean;
}
/** The answer to it. */
export interface Counted {
  /** How many stand before each place. */
  readonly before: readonly number[];
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
}

/** What an audit looks at in one call. */
export interface AuditItems {
  /** The index whose entries these are; left out, tasks are looked at. */
  readonly index?: { readonly name: Index; readonly queue: string } | undefined;
  readonly ids: readonly string[];
  /** Make those agree that do not. */
  readonly heal: boolean;
}
