import { ANSWER_MEMBERS, decodeTask, STORED_MEMBERS, type TaskRecord } from "../task-record.ts";
import { counted, named, names, verb } from "./codec.ts";
import { list, number } from "./reply.ts";
import type { BytesReply } from "./script.ts";
import { type QueueSnapshot, snapshotOf } from "./snapshot.ts";

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
const LAYOUT = { item: ITEM, answer: ANSWER, stored: STORED_MEMBERS, task: ANSWER_MEMBERS };

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
  return { nowMs: number(nowMs), snapshots: list(snapshots).map(snapshotOf), tasks: list(tasks).map(decodeTask) };
}
