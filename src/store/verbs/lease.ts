import { SHARED } from "../constants.ts";
import { type BatchVerb, counted, names, verbOnEach, word } from "./codec.ts";
import { list, text } from "./reply.ts";
import { DEAD_CAP, type Retention } from "./settle.ts";
import type { LostTask, TickQueue } from "./tick.ts";

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
export type LoseVerdict = LostTask["fate"] | "stale";

const LOST = names<Lease & TickQueue>(
  ...(["queue", "id", "fence", "maxLost", "problem", "keepMs", "tombstoneMs", "deadMs"] as const),
);

/** Reports that handlers begin. */
export const begin = verbOnEach<BegunLease, BeginVerdict>({ item: ["queue", "id", "fence", "leaseMs", "apart"] });

/** Prolongs leases. */
export const renew = verbOnEach<Renewal, RenewalAnswer>({
  item: ["queue", "id", "fence", "leaseMs", "asTaken"],
  verdict: (reply) => {
    const [verdict, leaseMs = 0] = text(reply).split(" ");
    return { verdict: verdict as RenewalAnswer["verdict"], leaseMs: Number(leaseMs) };
  },
});

/** A task to hand back. */
interface Release extends Lease, Retention {
  /** Whether its handler never began. Default: it did. */
  readonly unbegun?: boolean | undefined;
}

/** Hands tasks back to their old places; their attempts do not count. */
export const release = verbOnEach<Release, ReleaseVerdict>({
  item: ["queue", "id", "fence", "keepMs", "tombstoneMs", "unbegun"],
  ends: true,
  workOf: () => SHARED.moveWork,
});

/** Reports tasks whose process died. */
export const lose: BatchVerb<Lease & TickQueue, LoseVerdict, [deadCap?: number]> = {
  layout: { args: ["deadCap"], item: LOST },
  weights: { workOf: () => SHARED.moveWork },
  write: (items, deadCap = DEAD_CAP) => [deadCap, ...counted(LOST, items)],
  read: (reply) => list(reply).map(word<LoseVerdict>),
};
