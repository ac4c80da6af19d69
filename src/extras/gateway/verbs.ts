import { jsonVerb } from "../../store/library/verb.ts";

/** Asks whether work may be taken from a queue with a circuit breaker. */
interface BreakerQuestion {
  readonly queue: string;
  /** Unique to a request for tasks; "" for a request that must not probe. */
  readonly request: string;
  /** How long a probe counts without a renewal. */
  readonly leaseMs: number;
  /** `return`: the request has not taken a task after all. */
  readonly verb: "ask" | "return";
}

interface BreakerState {
  readonly state: "closed" | "half-open" | "open";
  /** For how long nobody may probe. */
  readonly waitMs: number;
  /** Consecutive failures of the target so far. */
  readonly failures: number;
}

/** What an attempt has shown about the target of a queue. */
interface BreakerReport {
  readonly queue: string;
  /** Of the attempt; unique in the queue. */
  readonly reference: string;
  /** `unclear`: there was no answer, which counts only for a probe. */
  readonly state: "up" | "down" | "unclear";
  /** Why it counts as down. */
  readonly reason: string;
  /** The request that took the task as a probe; "" if it is not a probe. */
  readonly request: string;
  /** Whether it was a turn, see line/turns.lua: while the queue rests, each is a probe. */
  readonly turn?: boolean;
}

/** Only one attempt gets `opened` or `recovered`, and logs it. */
export type BreakerVerdict = "closed" | "opened" | "open" | "recovered";

/** Whether work may be taken from a queue with a circuit breaker. */
export const breaker = jsonVerb<BreakerQuestion, BreakerState>();

/** Notes what an attempt has shown about the target of a queue. */
export const breakerReport = jsonVerb<BreakerReport, BreakerVerdict>();
