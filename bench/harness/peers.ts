import type { Callable } from "./rpc.ts";

/** The calls that every task queue under test answers, so that all do the same work. */
export type PeerCalls = {
  /** Submits tasks in bulk, with UUIDs as ids; resolves with how many ms it took. */
  fill(args: { count: number; bytes: number }): Promise<number>;
  /** Runs a worker of tasks that only return a result (a short one where its length is left out) until `count` are finished; ms from the first start to the last end in the store. */
  work(args: { count: number; concurrency: number; resultBytes?: number }): Promise<number>;
  /** Starts a worker that reports each start, as {@link Began}. */
  listen(args: null): Promise<void>;
  /** Submits one task; resolves with the monotonic ns at which the call began. */
  add(args: null): Promise<string>;
};

/** A peer's process. */
export type Peer = Callable<PeerCalls>;

/** Reported by a worker: the monotonic ns at which a handler was called. All processes share that clock. */
export interface Began {
  readonly began: string;
}

/** Monotonic ns, as text: JSON cannot represent such numbers exactly. */
export function monotonicNs(): string {
  return process.hrtime.bigint().toString();
}
