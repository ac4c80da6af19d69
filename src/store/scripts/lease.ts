/** A lease that a worker holds: what every verb of a running task must show. */
export interface Lease {
  readonly queue: string;
  readonly id: string;
  readonly fence: string;
}

/** A lease that is to end after so long. */
export interface TimedLease extends Lease {
  readonly leaseMs: number;
}
