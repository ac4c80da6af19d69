/** Maximum number of dead tasks kept for a queue, beyond which the oldest are deleted, if it is not {@link SHARED.deadCap}. */
export interface DeadCap {
  readonly deadCap?: number;
}

/** How long ended tasks are kept, see task/result.lua. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
