import type { State, TaskAction } from "../../task.ts";
import { stateOf } from "../letters.ts";
import { runOf } from "../run.ts";
import { counted, named, names, verb } from "./codec.ts";
import { list, number, optional, text } from "./reply.ts";
import type { BytesReply } from "./script.ts";
import { type KeyTurn, keyTurn, type QueueSnapshot, snapshotOf } from "./snapshot.ts";

/** A task as returned by inspect.lua. Times are ms of Redis's clock; null if not reached. */
export interface TaskRow {
  readonly queue: string;
  readonly state: State;
  readonly createdMs: number;
  /** The actions that its state allows to anyone, see lua/allowed.lua. */
  readonly allowed: readonly TaskAction[];
  /** How many times its input was replaced. */
  readonly revision: number;
  /** Number of attempts begun. */
  readonly attempts: number;
  readonly startedMs: number | null;
  readonly finishedMs: number | null;
  /** When the result expires; only of finished tasks. */
  readonly expiresMs: number | null;
  /** How many workers it has lost. */
  readonly lost: number;
  readonly cancelRequested: boolean;
  /** Finished, and the result was deleted. */
  readonly deleted: boolean;
  readonly errorCode: string | null;
  readonly progress: string | null;
  readonly caller: string;
  readonly index: number | null;
  readonly dueMs: number | null;
  /** When it is canceled unless it has ended. */
  readonly deadlineMs: number | null;
  /** After how long without a look it is canceled. */
  readonly presenceMs: number | null;
  /** When it is canceled unless somebody looks at it before; only of one with a presence that has not ended. */
  readonly presentUntilMs: number | null;
  /** Whether it waits for its line key: it has not started, and other tasks hold the key as often as is allowed. */
  readonly held: boolean;
  /** The task whose input was submitted again as this one. */
  readonly original: string | null;
  /** The last task that was submitted with its input. */
  readonly again: string | null;
  /** The group of which it is a member. */
  readonly group: string | null;
  /** Of a waiting task in a keyed line. */
  readonly turn: KeyTurn | null;
  /** If requested and short. */
  readonly result: Buffer | null;
  /** The length of a requested result that is too long to be included; else 0. */
  readonly resultBytes: number;
  /** The last errors, newest first, of a failed task whose result was requested. */
  readonly errors: readonly string[];
}

/** Tasks and the figures of their queues, all at the same instant. */
export interface InspectAnswer {
  readonly nowMs: number;
  readonly snapshots: readonly QueueSnapshot[];
  readonly tasks: readonly (TaskRow | null)[];
}

/** A task to read. */
export interface InspectItem {
  readonly id: string;
  /** Whether to include the result if it has ended. */
  readonly result: boolean;
}

const ITEM = names<InspectItem>("id", "result");
const ANSWER = ["nowMs", "snapshots", "tasks"] as const;
const TASK = ["facts", "progress", "caller", "result", "errors", "run"] as const;
/** The words of its facts, in the order of inspection.lua. Those of the turn in a keyed line follow. */
const FACTS = [
  ...(["queue", "state", "allowed", "created", "ended", "expires", "lost", "cancel", "deleted", "errorCode"] as const),
  ...([
    "index",
    "due",
    "revision",
    "deadline",
    "held",
    "original",
    "again",
    "presence",
    "presentUntil",
    "group",
  ] as const),
] as const;
const LAYOUT = { item: ITEM, answer: ANSWER, task: TASK };

/** Reads tasks. */
export const inspect = verb(
  LAYOUT,
  (script) =>
    async (tag: string, looks: readonly InspectItem[]): Promise<InspectAnswer> =>
      inspected(await script.bytes(tag, counted(ITEM, looks))),
);

/** The same, and adds a process to the listeners of the tasks. */
export const watch = verb(
  { args: ["process"], ...LAYOUT },
  (script) =>
    async (tag: string, process: string, looks: readonly InspectItem[]): Promise<InspectAnswer> =>
      inspected(await script.bytes(tag, [process, ...counted(ITEM, looks)])),
);

/** How long tasks, or groups, will still exist, ms: infinity for one that has not ended, 0 for an unknown one. */
export const lifetimes = verb(
  { item: ["id"] },
  (script) =>
    async (tag: string, ids: readonly string[]): Promise<number[]> =>
      list(await script.text(tag, [ids.length, ...ids])).map((left) => {
        const ms = number(left);
        return ms === -1 ? Number.POSITIVE_INFINITY : Math.max(0, ms);
      }),
);

function inspected(reply: BytesReply): InspectAnswer {
  const { nowMs, snapshots, tasks } = named(ANSWER, reply);
  return { nowMs: number(nowMs), snapshots: list(snapshots).map(snapshotOf), tasks: list(tasks).map(taskRow) };
}

function taskRow(reply: BytesReply): TaskRow | null {
  if (!Array.isArray(reply)) return null;
  const { facts, progress, caller, result, errors, run } = named(TASK, reply as BytesReply);
  const words = text(facts).split(" ");
  const of = named(FACTS, words);
  const state = stateOf(text(of.state));
  if (state === null) return null;
  const allowed = text(of.allowed);
  return {
    queue: text(of.queue),
    state,
    // NaN becomes 0, since NaN does not equal itself.
    createdMs: number(of.created) || 0,
    allowed: allowed === "" ? [] : (allowed.split(",") as TaskAction[]),
    revision: number(of.revision),
    ...runOf(text(run)),
    finishedMs: optional(of.ended),
    expiresMs: optional(of.expires),
    lost: number(of.lost),
    cancelRequested: text(of.cancel) !== "",
    deleted: text(of.deleted) === "1",
    errorCode: text(of.errorCode) || null,
    progress: text(progress) || null,
    caller: text(caller),
    index: optional(of.index),
    dueMs: optional(of.due),
    deadlineMs: optional(of.deadline),
    presenceMs: optional(of.presence),
    presentUntilMs: optional(of.presentUntil),
    held: text(of.held) === "1",
    original: text(of.original) || null,
    again: text(of.again) || null,
    group: text(of.group) || null,
    turn: keyTurn(words.slice(FACTS.length)),
    result: Buffer.isBuffer(result) && result.length > 0 ? result : null,
    resultBytes: typeof result === "number" ? result : 0,
    errors: texts(text(errors)),
  };
}

/** The strings of a JSON array; none if it is invalid. */
function texts(json: string): string[] {
  if (json === "") return [];
  try {
    const members: unknown = JSON.parse(json);
    return Array.isArray(members) ? members.map(String) : [];
  } catch {
    return [];
  }
}
