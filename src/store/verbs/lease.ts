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
