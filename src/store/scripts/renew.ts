import type { TimedLease } from "./lease.ts";
import type { Script } from "./script.ts";

/** A lease to prolong. */
export interface Renewal extends TimedLease {
  /** By as long as it was taken for over HTTP; by `leaseMs` only where it was not. */
  readonly asTaken?: boolean;
}

/** What became of it: see renew.lua. */
export interface Renewed {
  readonly verdict: "ok" | "cancel" | "deadline" | "stale";
  /** From now on; 0 where it is stale. */
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
