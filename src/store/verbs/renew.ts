import type { TimedLease } from "./lease.ts";
import type { Script } from "./script.ts";

/** A lease to prolong. */
export interface Renewal extends TimedLease {
  /** By its original length if it was taken over HTTP; else by `leaseMs`. */
  readonly asTaken?: boolean;
}

/** The verdict, see renew.lua. */
export interface Renewed {
  readonly verdict: "ok" | "cancel" | "deadline" | "stale";
  /** From now; 0 if stale. */
  readonly leaseMs: number;
}

/** Prolongs leases. */
export const renew =
  (script: Script) =>
  async (tag: string, leases: readonly Renewal[]): Promise<Renewed[]> => {
    const write = ({ queue, id, fence, leaseMs, asTaken }: Renewal) => [queue, id, fence, leaseMs, asTaken ? "1" : ""];
    return (await script.verdicts(tag, leases, write)).map((answer) => {
      const [verdict, leaseMs = 0] = answer.split(" ");
      return { verdict: verdict as Renewed["verdict"], leaseMs: Number(leaseMs) };
    });
  };
