import type { Index } from "../keys.ts";
import type { Line, TaskRow } from "./rows.ts";

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
/** What became of a change to a task that has not ended: see update.lua. */
export type UpdateVerdict = "updated" | "conflict" | "changed" | "unknown";

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
