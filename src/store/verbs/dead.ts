import { SHARED } from "../constants.ts";
import { names, verb, verbOnEach, written } from "./codec.ts";
import { number } from "./reply.ts";
import { BATCH_LIMIT } from "./script.ts";

export interface Retry {
  readonly id: string;
  readonly call: string;
}

/** The verdict on the retry of a dead task, see dead.lua. */
export type RetryVerdict = "waiting" | "not-dead" | "undone" | "unknown";

interface DeadDeletion {
  readonly call: string;
  readonly queue: string;
  readonly limit: number;
}

const DELETION = names<DeadDeletion>("queue", "limit", "call");

/** Retries dead tasks. */
export const retry = verbOnEach<Retry, RetryVerdict>({ item: ["id", "call"], workOf: () => SHARED.moveWork });

/** Deletes dead tasks, the oldest first; returns how many. */
export const deleteDead = verb({
  layout: { args: DELETION },
  write: (of: DeadDeletion) => written(DELETION, { ...of, limit: Math.min(of.limit, BATCH_LIMIT) }),
  read: number,
});
