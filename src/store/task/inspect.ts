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

/** Reads the answer of inspection.lua. */
export function inspected(reply: Reply): InspectAnswer {
  const { nowMs, snapshots, tasks } = named(ANSWER, reply);
  return { nowMs: number(nowMs), snapshots: list(snapshots).map(snapshotOf), tasks: list(tasks).map(decodeTask) };
}
