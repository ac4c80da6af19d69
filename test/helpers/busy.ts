/** What a machine with much to do may add to a time that is promised, ms. */
export const BUSY_MS = 3000;
