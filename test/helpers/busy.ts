/** How much later than promised something may happen on a busy machine, ms. */
export const BUSY_MS = 3000;
