import { names, verb } from "./codec.ts";
import { grouped } from "./grouped.ts";
import { text } from "./reply.ts";

/** A task with a presence (or a group, by its address) that somebody has looked at, with the unchanging facts that the store would otherwise have to read. */
export interface Attendance {
  readonly id: string;
  readonly queue: string;
  readonly presenceMs: number | null;
  readonly deadlineMs: number | null;
}

/** The verdict, see attend.lua. */
export type AttendVerdict = "kept" | "gone" | "unknown";

const GROUP = names<Attendance>("queue", "presenceMs", "deadlineMs");

/** Keeps tasks that would be canceled if nobody looked at them. */
export const attend = verb(
  { args: ["groups"], group: [...GROUP, "tasks"] },
  (script) =>
    async (tag: string, items: readonly Attendance[]): Promise<AttendVerdict[]> =>
      text(await script.text(tag, grouped(items, GROUP, names<Attendance>("id")))).split(" ") as AttendVerdict[],
);
