import { SHARED } from "../constants.ts";
import { type BatchVerb, counted, jsonVerbOnEach, list, names, type Reply, text } from "../library/verb.ts";
import type { LostTask, TickQueue } from "../ops/tick.ts";
import type { DeadCap, Retention } from "./record.ts";

/** A worker's lease, required by every verb on a running task. */
export interface Lease {
  readonly queue: string;
  readonly id: string;
  readonly fence: string;
}

/** A lease with its new length. */
export interface TimedLease extends Lease {
  readonly leaseMs: number;
}

/** The lease of a handler that begins. */
export interface BegunLease extends TimedLease {
  /** Whether it runs in a child process. */
  readonly apart: boolean;
}

/** Whether a handler may begin, see lease.lua. */
export type BeginVerdict = "ok" | "cancel" | "deadline" | "abandoned" | "stale";

/** A lease to prolong. */
export interface Renewal extends TimedLease {
  /** Whether to prolong by its original length if it was taken over HTTP, otherwise by `leaseMs`. */
  readonly asTaken?: boolean;
}

/** The verdict, see lease.lua. */
export interface RenewalAnswer {
  readonly verdict: BeginVerdict;
  /** From now; 0 if stale. */
  readonly leaseMs: number;
}

/** The verdict on a task that was handed back, see lease.lua. */
type ReleaseVerdict = "released" | "canceled" | "stale";

/** The verdict on a task whose worker has died, see lease.lua. */
export type LoseVerdict = LostTask["outcome"] | "stale";

/** Reports that handlers begin. */
export const begin = jsonVerbOnEach<BegunLease, BeginVerdict>();

const RENEWAL = names<Renewal>("queue", "id", "fence", "leaseMs", "asTaken");

/** Prolongs leases. */
export const renew: BatchVerb<Renewal, RenewalAnswer> = {
  layout: { item: RENEWAL },
  weights: {},
  write: (items) => counted(RENEWAL, items),
  read: (reply) => list(reply).map(renewed),
};

function renewed(reply: Reply): RenewalAnswer {
  const [verdict, leaseMs = 0] = text(reply).split(" ");
  return { verdict: verdict as RenewalAnswer["verdict"], leaseMs: Number(leaseMs) };
}

/** A task to hand back. */
interface Release extends Lease, Retention {
  /** Whether its handler never began. Default: it did. */
  readonly unbegun?: boolean | undefined;
}

const WORK = { workOf: () => SHARED.moveWork };

/** Hands tasks back to their old places; their attempts do not count. */
export const release = jsonVerbOnEach<Release, ReleaseVerdict>(WORK, { ends: true, filled: ["keepMs", "tombstoneMs"] });

/** Reports tasks whose process died. */
export const lose = jsonVerbOnEach<Lease & TickQueue, LoseVerdict, DeadCap>(WORK, {
  filled: ["maxLost", "keepMs", "tombstoneMs", "deadMs", "problem"],
});
