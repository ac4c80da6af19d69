import { text } from "./reply.ts";
import type { Script } from "./script.ts";

/** What an attempt has shown about the target of a queue. */
interface TargetReport {
  readonly queue: string;
  /** Of the attempt; unique in the queue. */
  readonly reference: string;
  /** `unclear`: there was no answer, which only counts for a probe. */
  readonly state: "up" | "down" | "unclear";
  readonly reason: string;
  /** The request that took the task as a probe, "" if it is none. */
  readonly request: string;
}

/** `began` and `ended` are said to one attempt only, which says so in the log. */
export type TargetVerdict = "open" | "began" | "resting" | "ended";

/** Notes what an attempt has shown about the target of a queue. */
export const target =
  (script: Script) =>
  async (tag: string, { queue, reference, state, reason, request }: TargetReport): Promise<TargetVerdict> =>
    text(await script.text(tag, [queue, reference, state, reason, request])) as TargetVerdict;
