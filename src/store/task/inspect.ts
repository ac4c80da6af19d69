import { counted, jsonVerb, list, named, names, number, type Reply, verb } from "../library/verb.ts";
import { type QueueSnapshot, SNAPSHOT, snapshotOf } from "../line/snapshot.ts";
import { ANSWER_MEMBERS, decodeTask, STORED_MEMBERS, type TaskRecord } from "./record.ts";

/** Tasks and the figures of their queues, all at the same instant. */
export interface InspectAnswer {
  readonly nowMs: number;
  readonly snapshots: readonly QueueSnapshot[];
  readonly tasks: readonly (TaskRecord | null)[];
}

/** A task to read. */
export interface InspectItem {
  readonly id: string;
  /** Whether to include the result if it has ended. */
  readonly result: boolean;
}

const ITEM = names<InspectItem>("id", "result");
const ANSWER = ["nowMs", "snapshots", "tasks"] as const;
const LAYOUT = { item: ITEM, answer: ANSWER, stored: STORED_MEMBERS, task: ANSWER_MEMBERS, snapshot: SNAPSHOT };

/** Reads tasks. */
export const inspect = verb({
  layout: LAYOUT,
  bytes: true,
  write: (looks: readonly InspectItem[]) => counted(ITEM, looks),
  read: inspected,
});

/** The same, and adds a process to the listeners of the tasks. */
export const watch = verb({
  layout: { args: ["process"], ...LAYOUT },
  bytes: true,
  write: (process: string, looks: readonly InspectItem[]) => [process, ...counted(ITEM, looks)],
  read: inspected,
});

/** How long tasks, or groups, will still exist, ms: infinity for one that has not ended, 0 for an unknown one. */
export const lifetimes = jsonVerb({
  sent: (ids: readonly string[]) => ({ items: ids }),
  read: (left: readonly number[]) => left.map((ms) => (ms === -1 ? Number.POSITIVE_INFINITY : Math.max(0, ms))),
});

/** Reads the answer of `inspect`. */
export function inspected(reply: Reply): InspectAnswer {
  const { nowMs, snapshots, tasks } = named(ANSWER, reply);
  return { nowMs: number(nowMs), snapshots: list(snapshots).map(snapshotOf), tasks: list(tasks).map(decodeTask) };
}

/** Maximum number of steps, and maximum bytes of an input and of a step's value that are read. */
export const DETAILS_LIMITS = { steps: 100, bytes: 20_000, stepBytes: 1000 } as const;

/** An attempt that did not end its task; see attempt.lua. */
export interface PastAttempt {
  /** 0 for the retry of a dead task, which is not an attempt. */
  readonly number: number;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly outcome: string;
  /** "" if unknown. */
  readonly worker: string;
  readonly error: string;
}

/** What an attempt has left for operators. */
export interface StoredLog {
  readonly number: number;
  readonly beganMs: number;
  /** JSON. */
  readonly log: string;
}

/** A durable step of a task. */
export interface StepRecord {
  readonly name: string;
  /** Its place in the order in which they began. */
  readonly number: number;
  readonly state: "begun" | "done" | "undone";
  readonly undoable: boolean;
  /** Of its value as JSON. */
  readonly bytes: number;
  /** JSON; null if there is none, or it is too long to be read. */
  readonly value: string | null;
}

/** Details of a task that few callers need. */
export interface TaskDetails {
  /** The oldest first. */
  readonly past: readonly PastAttempt[];
  /** Of the latest attempts that have left any. */
  readonly logs: readonly StoredLog[];
  readonly priority: number;
  readonly mediaType: string;
  /** JSON of its query parameters; "" without any. */
  readonly query: string;
  readonly webhook: string;
  /** The task that undoes its work; "" if there is none. */
  readonly undo: string;
  readonly stepCount: number;
  readonly steps: readonly StepRecord[];
  /** Its length if it is long; null if there is none. */
  readonly input: Buffer | number | null;
}

/** The same as the Lua answers it. */
interface StoredDetails extends Omit<TaskDetails, "past" | "logs" | "steps" | "input"> {
  readonly past: string;
  readonly logs: string;
  readonly steps: readonly StoredStep[];
}
/** A step as it is stored, cut short, and its whole length in bytes. */
interface StoredStep {
  readonly name: string;
  readonly stored: string;
  readonly length: number;
}

/** Reads details of a task that few callers need; null if it is unknown. */
export const details = jsonVerb<{ readonly id: string }, TaskDetails | null>({
  sent: ({ id }) => ({ id, ...DETAILS_LIMITS }),
  read: (found: StoredDetails | null, { beside }) =>
    found && {
      ...found,
      past: found.past.split("\n").flatMap(attemptOf).reverse(),
      logs: found.logs.split("\n").flatMap(logOf),
      steps: found.steps.map(stepOf).sort((a, b) => a.number - b.number),
      input: Buffer.isBuffer(beside) || typeof beside === "number" ? beside || null : null,
    },
});

function attemptOf(line: string): PastAttempt[] {
  const [attempt, began, ended, outcome, worker, ...error] = line.split(" ");
  if (outcome === undefined) return [];
  return [
    {
      number: Number(attempt),
      beganMs: Number(began),
      endedMs: Number(ended),
      outcome,
      worker: worker === "-" || worker === undefined ? "" : worker,
      error: error.join(" "),
    },
  ];
}

function logOf(line: string): StoredLog[] {
  const [, attempt, began, log] = /^(\d+) (\d+) (.*)$/s.exec(line) ?? [];
  return log === undefined ? [] : [{ number: Number(attempt), beganMs: Number(began), log }];
}

/** A stored step is its number, a letter, a space and JSON: see attempt.lua. */
function stepOf({ name, stored, length }: StoredStep): StepRecord {
  const [head = "", place = "0", letter = ""] = /^(\d+)([a-z]?) /.exec(stored) ?? [];
  const bytes = length - head.length;
  const value = stored.slice(head.length);
  return {
    name,
    number: Number(place),
    state: letter === "u" ? "undone" : bytes > 0 ? "done" : "begun",
    undoable: letter !== "",
    bytes,
    value: bytes > 0 && bytes === Buffer.byteLength(value) ? value : null,
  };
}
