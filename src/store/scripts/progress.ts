import type { Script } from "./script.ts";

/** How far a running task is. */
export interface ProgressReport {
  readonly id: string;
  readonly fence: string;
  /** Percent, a space, message. */
  readonly progress: string;
}

/** Keeps how far running tasks are. */
export const progress =
  (script: Script) =>
  (tag: string, items: readonly ProgressReport[]): Promise<("ok" | "stale")[]> =>
    script.verdicts(tag, items, (t) => [t.id, t.fence, t.progress]);
