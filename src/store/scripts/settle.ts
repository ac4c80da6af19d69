/** How long what has ended stays: see lua/lib/settle.lua. */
export interface Retention {
  readonly keepMs: number;
  readonly tombstoneMs: number;
}
