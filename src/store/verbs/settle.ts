/** How long ended tasks are kept, see lua/result.lua. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
