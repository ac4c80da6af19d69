import type { Script } from "./script.ts";

/** The progress of a running task. */
export interface ProgressReport {
  readonly id: string;
  readonly fence: string;
  /** Percent, a space, message. */
  readonly progress: string;
}

/** Stores the progress of running tasks. */
export const progress =
  (script: Script) =>
  (tag: string, items: readonly ProgressReport[]): Promise<("ok" | "stale")[]> =>
    script.verdicts(tag, items, (t) => [t.id, t.fence, t.progress]);
