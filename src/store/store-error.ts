import { ProblemError, reasonOf } from "../errors.ts";

/** Errors of a Redis that cannot serve now, and of ioredis for a missing connection. */
const AWAY =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|NOREPLICAS|MISCONF|ERR Function not found)|Connection is closed|no node has the slot|non local key|cluster is down|Cluster (isn't ready|is ended)|slots cache|redirections|startup nodes|sentinels are unreachable|Stream isn't writeable|Command timed out|Socket (timeout|closed)|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|max retries|MaxRetries/i;

/** What ioredis says of a missing connection and of a missing answer, and the same in words for an operator. */
const WITHOUT_ANSWER: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/Stream isn't writeable|Connection is closed/, "no connection to Redis"],
  [/Command timed out|Socket timeout/, "no answer in time from Redis"],
];

/**
 * The catalogue's error for an error of the store: store-full, store-unavailable, or else internal.
 * @param place where the store is, without its password; undefined if the error names it or nobody knows
 */
export function storeError(error: unknown, place?: string): ProblemError {
  if (error instanceof ProblemError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // At maxmemory the error of a script contains the position of the command.
  if (/(^|\W)OOM command not allowed/.test(message)) return new ProblemError("store-full", undefined, { cause: error });
  if (AWAY.test(message)) {
    const words = WITHOUT_ANSWER.find(([pattern]) => pattern.test(message))?.[1];
    const at = place === undefined ? "" : ` at ${place}`;
    const cause = words === undefined ? error : new Error(words + at, { cause: error });
    return new ProblemError("store-unavailable", undefined, { cause });
  }
  return new ProblemError("internal", undefined, { cause: error });
}

/** Errors of a server that answers but refuses a command, and what they mean to an operator. */
const REFUSALS: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [
    /\bMISCONF\b/,
    "the store refuses writes: it cannot save to its disk, which is full or read-only, or its directory is gone; see its log",
  ],
  [
    /\bNOREPLICAS\b/,
    "the store refuses writes: it has fewer connected replicas than its min-replicas-to-write requires",
  ],
  [/\bREADONLY\b/, "the store refuses writes: it is a replica; name its master, or use sentinels"],
  [/\bOOM command not allowed\b/, "the store refuses writes: its memory is full, see its maxmemory"],
];

/**
 * Why the store refuses writes, in words for an operator; undefined if it has refused nothing, e.g. since it could not be reached.
 * @param thrown the answer of the store, or an error made from it
 */
export function refusalOf(thrown: unknown): string | undefined {
  const said = reasonOf(thrown);
  return REFUSALS.find(([pattern]) => pattern.test(said))?.[1];
}
