import { SHARED } from "../constants.ts";
import { BATCH_LIMIT, jsonVerb, jsonVerbOnEach } from "../library/verb.ts";

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

/** Retries dead tasks. */
export const retry = jsonVerbOnEach<Retry, RetryVerdict>({ workOf: () => SHARED.moveWork }, { filled: ["call"] });

/** Deletes dead tasks, the oldest first; returns how many. */
export const deleteDead = jsonVerb<DeadDeletion, number>({
  sent: (of) => ({ ...of, limit: Math.min(of.limit, BATCH_LIMIT) }),
});
