import { INTERNAL_QUEUES } from "../handler/define.ts";
import { PRIORITY } from "../task.ts";

/** What TypeScript and the Lua files both reckon with; a Lua file writes `C.classSpan`. */
export const SHARED = {
  /** Where clock values begin: they stay below {@link SHARED.classSpan}. */
  epochMs: Date.UTC(2026, 0, 1),
  /** The distance between two priority classes in a score. */
  classSpan: 2 ** 45,
  defaultPriority: PRIORITY.default,
  webhookQueue: INTERNAL_QUEUES.webhooks,
  undoQueue: INTERNAL_QUEUES.undo,
  /** Over how many tasks the mean service time is tried as a forecast. */
  forecastBlocks: [16, 64, 256, 1024],
  /** A new service time weighs at least this much in the mean, so that a mean of many still follows a change. */
  leastWeight: 0.03,
} as const;
