/** Every Lua file that is called; those in lua/lib are parts of them. */
export const SCRIPT_NAMES = [
  "submit",
  "update",
  "reserve",
  "unreserve",
  "permit",
  "renew",
  "complete",
  "fail",
  "release",
  "cancel",
  "begin",
  "lose",
  "retry",
  "forget",
  "pause",
  "page",
  "audit",
  "progress",
  "step",
  "tick",
  "register",
  "heartbeat",
  "inspect",
  "count",
  "queue",
  "allocate",
  "allocation",
  "deallocate",
  "claim",
  "secret",
] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

/** Where a cluster is changing, those who have other partitions to turn to do not wait for this one as long as others do. */
export const PATIENCE_MS: Readonly<Partial<Record<ScriptName, number>>> = { count: 300, reserve: 500, heartbeat: 500 };
