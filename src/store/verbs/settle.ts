/** Maximum number of dead tasks kept for a queue; beyond that the oldest are deleted. */
export const DEAD_CAP = 10_000;

/** How long ended tasks are kept, see lua/result.lua. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
