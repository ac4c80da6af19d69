import type { CancelVerdict } from "../../../src/store/task/actions.ts";
import type { OutputValue } from "../../../src/store/task/attempt.ts";
import type { State } from "../../../src/task.ts";
import type { ModelShare, Shares, Start } from "./shares.ts";

/** A task as the model has it: what a caller, a worker and an operator may rely on, and nothing of how it is stored. */
export interface ModelTask {
  readonly id: string;
  readonly queue: string;
  readonly caller: string;
  priority: number;
  /** The class of its place: its priority, unless it was moved. */
  class: number;
  /** Null without a key, as in a queue that is not keyed. */
  key: string | null;
  /** No more of its key may start while it has not ended. */
  holds: boolean;
  /** Null where the line is not fair. */
  readonly share: ModelShare | null;
  /** Null for none. */
  readonly group: string | null;
  /** In a fair line, the task of its key that joined before it. */
  before: Start | null;
  state: State;
  input: string;
  mediaType: string;
  /** Its place within its class; null before it has joined the line. Only a retry or a move changes it. */
  place: number | null;
  /** When it joined the line, before or after others. */
  arrival: number;
  /** When its delay ends; Infinity for an hour from now, anything else is past. */
  due: number;
  /** When its lease ended; Infinity while it holds. */
  lapsed: number;
  attempts: number;
  lost: number;
  /** The number of its last taking, of all takings of all tasks; 0 before the first. */
  taking: number;
  fence: string | null;
  worker: string;
  /** Its worker has yet to say that the handler begins: until then no loss counts. */
  unreported: boolean;
  /** It was taken ahead of a slot, and nothing has shown yet that its handler began. */
  ahead: boolean;
  /** The span of its queue's rate in which its start counts; null for none. */
  span: number | null;
  /** The fence under which its handler has begun in a child process, whose worker may die without a loss. */
  apart: string | null;
  /** How often it was released before its handler began, since its last loss. */
  uncountedLosses: number;
  cancelRequested: boolean;
  /** When time cancels it unless somebody looks at it before; Infinity for a time to come, anything else is past; null for never. */
  ends: number | null;
  /** When its deadline passes; Infinity for two hours from now, anything else is past; null without one. */
  deadline: number | null;
  /** Why time has canceled it, or asked for that while it ran. */
  late: "deadline" | "abandoned" | null;
  /** It is canceled when nobody has looked at it for an hour. */
  present: boolean;
  progress: string | null;
  /** In the order in which they were begun. */
  readonly steps: Map<string, ModelStep>;
  /** What its handler has written; null when it is gone with the result. */
  output: OutputValue[] | null;
  /** How often it was taken back after it had been started. */
  restarts: number;
  /** The task that undoes its work, where it is dead and has one. */
  undoneBy: string | null;
  /** Newest first. */
  errors: string[];
  errorCode: string | null;
  /** What can be collected. */
  result: string | null;
  /** How long what is left of it stays; null while it is not finished. */
  kept: "result" | "dead" | null;
  /** When it died, ms, for the order in which dead letters leave; null when it is no dead letter. */
  died: number | null;
  inputKept: boolean;
  deleted: boolean;
  expired: boolean;
  /** A webhook is told of its end. */
  readonly webhook: boolean;
  /** What it does can be undone. */
  undoable: boolean;
  /** A worker has had it since it was submitted or retried, and did not hand it back unbegun. */
  begun: boolean;
  /** The same before its last taking. */
  begunBefore: boolean;
  /** What the last calls that changed it were answered, newest first; "" for one that is not made again. */
  answers: readonly (readonly [call: string, verdict: string])[];
}

interface ModelStep {
  /** Null while it is not known. */
  readonly value: string | null;
  readonly undo: "none" | "due" | "done";
}

export interface ModelQueue {
  readonly name: string;
  readonly attempts: number;
  readonly maxLost: number;
  readonly rate: { readonly max: number; readonly perMs: number } | undefined;
  readonly undo: boolean;
  /** An input is kept only until its task has succeeded. */
  readonly dropInput: boolean;
  /** How many tasks of one key run at once, as the last submission says; undefined if it is not keyed. */
  keyed: number | undefined;
  /** How many tasks of one key may wait; undefined if they are not counted. */
  readonly most: number | undefined;
  /** How many of its tasks run at once, over all workers; undefined for any number. */
  total: number | undefined;
  /** Null where the line is not fair. */
  readonly shares: Shares | null;
  paused: boolean;
  /** Starts that the rate still counts. */
  starts: number;
  /** Which span that is. */
  span: number;
  /** The last reservation of each worker and lane that brought something, with the taking of each task. */
  readonly reservations: Map<string, { reservation: string; takings: ReadonlyMap<string, number> }>;
  /** Entries of the counters that only grow. */
  deaths: number;
  losses: number;
  /** How many were accepted, have been started, have succeeded or failed, and have failed. */
  accepted: number;
  started: number;
  finished: number;
  failed: number;
}

export interface ModelSubmission {
  readonly id: string;
  readonly queue: string;
  readonly input: string;
  readonly mediaType: string;
  readonly caller: string;
  readonly priority: number;
  readonly delayed: boolean;
  readonly limit: number;
  /** How many tasks of one key run at once; undefined if its queue is not keyed. */
  readonly concurrency?: number | undefined;
  readonly maxIndex: number | null;
  readonly dryRun: boolean;
  readonly webhook: boolean;
  readonly dated: boolean;
  readonly present: boolean;
  readonly key?: string | null | undefined;
  readonly share: ModelShare | null;
  /** The group that it joins; undefined for none. */
  readonly group?: string | undefined;
}

/** Where a task is moved: one of the three. */
export interface ModelMove {
  readonly priority?: number;
  readonly place?: "first" | "last";
  /** Until an hour from now, or until now. */
  readonly delayed?: boolean;
}

export interface ModelLease {
  readonly id: string;
  readonly fence: string;
}

/** Most bytes of an output here, so that the limit is met in a short run. */
export const MODEL_OUTPUT_BYTES = 12;
/** Most dead letters of a queue here, so that the cap is met in a short run. */
export const MODEL_DEAD_CAP = 3;
/** Where what follows from a task's end waits. */
export const UNDO_QUEUE = "paihao.undo";
/** A moment on the store's clock that is long gone. */
export const LONG_AGO = 1;
/** The due time of what is due at once, until the store is told {@link LONG_AGO}: it would order two such tasks by the millisecond. */
export const DUE_NOW = 0;

/** What is given of a task when it is submitted. */
export type NewTask = Pick<
  ModelTask,
  "id" | "queue" | "caller" | "priority" | "input" | "mediaType" | "webhook" | "present" | "share"
> & {
  readonly dated: boolean;
  readonly key?: string | null | undefined;
  readonly group?: string | undefined;
};

/** A task that has just been submitted. */
export function newTask(s: NewTask, begin: Pick<ModelTask, "state" | "place" | "undoable">): ModelTask {
  return {
    ...{ id: s.id, queue: s.queue, caller: s.caller, priority: s.priority, class: s.priority },
    ...{ input: s.input, mediaType: s.mediaType },
    ...{ key: s.key ?? null, holds: false },
    ...{ share: s.share, before: null, arrival: 0, group: s.group ?? null },
    ...{
      present: s.present,
      deadline: s.dated ? Infinity : null,
      ends: s.dated || s.present ? Infinity : null,
      late: null,
    },
    ...{
      webhook: s.webhook,
      ...begin,
      steps: new Map(),
      output: [],
      restarts: 0,
      undoneBy: null,
      due: Infinity,
      lapsed: Infinity,
    },
    ...{
      attempts: 0,
      lost: 0,
      taking: 0,
      fence: null,
      worker: "",
      unreported: false,
      ahead: false,
      span: null,
      apart: null,
      uncountedLosses: 0,
      cancelRequested: false,
      answers: [],
    },
    ...{
      progress: null,
      errors: [],
      errorCode: null,
      result: null,
      kept: null,
      died: null,
      begun: false,
      begunBefore: false,
    },
    ...{ inputKept: true, deleted: false, expired: false },
  };
}

/** Redis orders entries of the same score so. */
export const byId = (a: Pick<ModelTask, "id">, b: Pick<ModelTask, "id">): number => (a.id < b.id ? -1 : 1);

/** What became of a task that time cancels. */
export type LateVerdict = { id: string; verdict: CancelVerdict; reason: ModelTask["late"] };

/** Whether a running task may go on. */
export type RenewVerdict = "ok" | "cancel" | "deadline" | "abandoned" | "stale";

/** Why a running task is to stop. */
export const stopOf = ({ cancelRequested, late }: ModelTask) => (cancelRequested ? (late ?? "cancel") : undefined);
