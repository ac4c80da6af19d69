import { type BatchVerb, grouped, names, text } from "../library/verb.ts";

/** A task with a presence (or a group, by its address) that somebody has looked at, with the unchanging facts that the store would otherwise have to read. */
export interface Attendance {
  readonly id: string;
  readonly queue: string;
  readonly presenceMs: number | null;
  readonly deadlineMs: number | null;
}

/** The verdict, see deadlines.lua. */
export type AttendVerdict = "kept" | "gone" | "unknown";

const GROUP = names<Attendance>("queue", "presenceMs", "deadlineMs");
const TASK = names<Attendance>("id");

/** Keeps tasks that would be canceled if nobody looked at them. */
export const attend: BatchVerb<Attendance, AttendVerdict> = {
  layout: { args: ["groups"], group: [...GROUP, "tasks"] },
  weights: {},
  write: (items) => grouped(items, GROUP, TASK),
  read: (reply) => text(reply).split(" ") as AttendVerdict[],
};
