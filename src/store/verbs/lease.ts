import { each, names, verb } from "./codec.ts";
import type { Retention } from "./settle.ts";
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
export type ReleaseVerdict = "released" | "canceled" | "stale";

/** The verdict on a task whose worker has died, see lease.lua. */
export type LoseVerdict = LostTask["fate"] | "stale";

const BEGUN = names<BegunLease>("queue", "id", "fence", "leaseMs", "apart");
const RENEWAL = names<Renewal>("queue", "id", "fence", "leaseMs", "asTaken");
const RELEASED = names<Lease & Retention>("queue", "id", "fence", "keepMs", "tombstoneMs");
const LOST = names<Lease & TickQueue>(
  ...(["queue", "id", "fence", "maxLost", "problem", "keepMs", "tombstoneMs", "deadMs"] as const),
);

/** Reports that handlers begin. */
export const begin = verb(
  { item: BEGUN },
  (script) =>
    (tag: string, items: readonly BegunLease[]): Promise<BeginVerdict[]> =>
      each(script, tag, BEGUN, items),
);

/** Prolongs leases. */
export const renew = verb(
  { item: RENEWAL },
  (script) =>
    async (tag: string, leases: readonly Renewal[]): Promise<RenewalAnswer[]> =>
      (await each(script, tag, RENEWAL, leases)).map((answer) => {
        const [verdict, leaseMs = 0] = answer.split(" ");
        return { verdict: verdict as RenewalAnswer["verdict"], leaseMs: Number(leaseMs) };
      }),
);

/** Hands tasks back to their old places; their attempts do not count. */
export const release = verb(
  { item: RELEASED },
  (script) =>
    (tag: string, items: readonly (Lease & Retention)[]): Promise<ReleaseVerdict[]> =>
      each(script, tag, RELEASED, items),
);

/** Reports tasks whose process died. */
export const lose = verb(
  { args: ["deadCap"], item: LOST },
  (script) =>
    (tag: string, items: readonly (Lease & TickQueue)[], deadCap: number): Promise<LoseVerdict[]> =>
      each(script, tag, LOST, items, [deadCap]),
);
