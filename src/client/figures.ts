/** Limits: times, counts and sizes. In a file without imports, so that minifiers inline the values. */

/** How often a request is tried. */
export const ATTEMPTS = 8;
/** The pause before attempt n + 1 is this·2^(n−1), at most the longest, half of it random. */
export const PAUSE_MS = 250;
export const LONGEST_PAUSE_MS = 10_000;
/** Who looks to keep a turn pauses no longer than before this attempt: 2 s, where the shortest presence is 5 s. */
export const PATIENT_PAUSES = 4;
/** For a longer Retry-After the client does not wait: the caller gets the error. */
export const LONGEST_RETRY_AFTER_S = 60;
/** How long an answer may take to begin, and to arrive. */
export const ANSWER_MS = 35_000;

/** The longest document, problem or line of events. */
export const DOCUMENT_BYTES = 30_000_000;
/** The longest result: slightly more than the largest MAX_RESULT. */
export const RESULT_BYTES = 600_000_000;

/** The server sends something at once: if a stream is silent for this long, a proxy is buffering it. */
export const FIRST_BYTE_MS = 5000;
/** How long an open stream may be silent: the server sends a comment every 10 s. */
export const SILENCE_MS = 25_000;
/** After this many streams in a row that broke off early, the client polls instead. */
export const MAX_CUTS = 3;
/** A stream that lasted this long did not break off early. */
export const LONG_MS = 20_000;
/** How long a long poll lasts, and one for output, seconds. */
export const POLL_S = 25;
export const OUTPUT_POLL_S = 2;
/** A poll answered faster than this is followed by a pause; one that fails faster was not cut by a proxy. */
export const QUICK_MS = 500;
export const QUICK_PAUSE_S = 2;

/** How long an aborted run waits for its task to be canceled; then it rejects, and the cancel continues in the background. */
export const CANCEL_MS = 200;
/** How long it waits for the answer to a submission, and how long and how often it tries to cancel its task. */
export const LATE_MS = 3000;
export const FAREWELL_MS = 10_000;
/** How often a cancel is repeated because the version changed, which happens whenever the line moves. */
export const MAX_TRIES = 9;

/** The maximum number of lines and characters of one request of a batch. */
export const MAX_LINES = 500;
export const MAX_LENGTH = 1_000_000;
/** If the next input takes longer than this, the collected ones are sent. */
export const PATIENCE_MS = 50;

/** 23 days: with a time a little longer setTimeout would fire at once. */
export const LONGEST_TIMER_MS = 2_000_000_000;

/** How old, or how far in the future, a webhook's event may be (Standard Webhooks 1.0). */
export const TOLERANCE_S = 300;
