import type { ClockJump, ClockReading } from "../../store/verbs/tick.ts";

/** A smaller jump forward ends no lease before it is renewed, ms. */
const MIN_JUMP_MS = 100;

/**
 * Compares the clock of a store with the monotonic one of this process, which neither jumps nor counts the time while the machine is
 * suspended. A call takes time, so each gives only bounds of the difference; a jump is reported when it exceeds them.
 */
export class StoreClock {
  /** The store's clock minus ours, at least and at most, ms. */
  #bounds: { readonly min: number; readonly max: number } | undefined;
  #jump: ClockJump | undefined;

  /** The reading at a time of `performance.now()`. */
  at(monotonicMs: number): ClockReading {
    return {
      expectedMs: this.#bounds && Math.floor(this.#bounds.min + monotonicMs),
      jump: this.#jump,
    };
  }

  /** Notes what the clock said in a call; `told` is the jump that the call has reported to the store. */
  note(
    storeMs: number,
    { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number },
    told: ClockJump | undefined,
  ): void {
    const bounds = { min: storeMs - receivedMs, max: storeMs + 1 - sentMs };
    if (this.#jump === told) this.#jump = undefined;
    if (this.#bounds && bounds.min - this.#bounds.max > MIN_JUMP_MS)
      this.#jump = { fromMs: Math.floor(this.#bounds.min + sentMs), toMs: storeMs };
    this.#bounds = bounds;
  }
}
