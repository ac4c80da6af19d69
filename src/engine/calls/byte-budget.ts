import { ProblemError } from "../../errors.ts";
import { withTimeout } from "../../net/deadline.ts";

/** Room in a budget, or the wait for it. */
export interface Claim {
  /** Whether there is room. */
  readonly granted: boolean;
  /** Gives the room back, or no longer waits for it; idempotent. */
  release(): void;
}

interface Waiter extends Claim {
  granted: boolean;
  readonly bytes: number;
  go(): void;
}

/**
 * Limits the bytes in flight. Callers wait first come, first served, so that small values cannot overtake a large one forever.
 * A value larger than the whole budget goes alone.
 */
export class ByteBudget {
  readonly #max: number;
  readonly #line = new Set<Waiter>();
  #inFlight = 0;

  /** @param maxBytes limit of the bytes in flight */
  constructor(maxBytes: number) {
    this.#max = maxBytes;
  }

  /** Claims room for so many bytes; `go` is called when there is some, if there is none now. */
  claim(bytes: number, go: () => void): Claim {
    const claim: Waiter = {
      granted: false,
      bytes: Math.min(bytes, this.#max),
      go,
      release: () => this.#release(claim),
    };
    this.#line.add(claim);
    this.#admit(claim);
    return claim;
  }

  /**
   * Runs work that needs this many bytes once there is room.
   * @param patienceMs how long to wait for room
   * @throws ProblemError store-unavailable if there was no room in that time; what the work throws
   */
  async spend<T>(bytes: number, patienceMs: number, work: () => Promise<T>): Promise<T> {
    let go = (): void => undefined;
    const claim = this.claim(bytes, () => go());
    const late = () => new ProblemError("store-unavailable", "Too many large values are being read; try again.");
    try {
      if (!claim.granted) await withTimeout(patienceMs, new Promise<void>((resolve) => (go = resolve)), late);
      return await work();
    } finally {
      claim.release();
    }
  }

  #release(claim: Waiter): void {
    if (claim.granted) this.#inFlight -= claim.bytes;
    claim.granted = false;
    this.#line.delete(claim);
    this.#admit();
  }

  /** @param newcomer its caller reads `granted`, so `go` is not called */
  #admit(newcomer?: Waiter): void {
    for (const claim of this.#line) {
      if (this.#inFlight + claim.bytes > this.#max) return;
      this.#line.delete(claim);
      this.#inFlight += claim.bytes;
      claim.granted = true;
      if (claim !== newcomer) claim.go();
    }
  }
}
