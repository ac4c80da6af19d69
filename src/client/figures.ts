/** How long, how often and how much. In a file without imports: minifiers put the values in place. */

/** How often a request is tried. */
export const ATTEMPTS = 8;
/** The pause before attempt n + 1 is this·2^(n−1), at most the longest, half of it random. */
export const PAUSE_MS = 250;
export const LONGEST_PAUSE_MS = 10_000;
/** A longer Retry-After is not waited for: the caller gets the error. */
export const LONGEST_RETRY_AFTER_S = 60;
/** For an answer to begin, and to arrive. */
export const ANSWER_MS = 35_000;

/** The longest document, problem or line of events. */
export const DOCUMENT_BYTES = 30_000_000;
/** The longest result: somewhat more than MAX_RESULT may be. */
export const RESULT_BYTES = 600_000_000;

/** The server sends something at once: a stream that is silent for so long is kept by a proxy. */
export const FIRST_BYTE_MS = 5000;
/** And a comment every 10 s. */
export const SILENCE_MS = 25_000;
/** After so many streams in a row that broke off early it asks instead. */
export const MAX_CUTS = 3;
/** A stream that lasted so long did not break off early. */
export const LONG_MS = 20_000;
/** How long a long poll lasts, and one for output, seconds. */
export const POLL_S = 25;
export const OUTPUT_POLL_S = 2;
/** An answer that comes faster is followed by a pause, and a failure that comes faster is not that of a proxy. */
export const QUICK_MS = 500;
export const QUICK_PAUSE_S = 2;

/** How long an aborted run waits until its task is canceled; then it rejects, and goes on in the background. */
export const CANCEL_MS = 200;
/** How long it waits for the answer of a submission, and how long and how often it tries to cancel its task. */
export const LATE_MS = 3000;
export const FAREWELL_MS = 10_000;
/** A line that moves gives its tasks new versions. */
export const MAX_TRIES = 9;

/** Most lines and characters of one request of a batch. */
export const MAX_LINES = 500;
export const MAX_LENGTH = 1_000_000;
/** Inputs that are there are sent when the next one takes longer. */
export const PATIENCE_MS = 50;

/** The longest that setTimeout counts; a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** How old, or how far in the future, a webhook's event may be (Standard Webhooks 1.0). */
export const TOLERANCE_S = 300;
