/** How long ended tasks are kept, see lua/lib/settle.lua. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
