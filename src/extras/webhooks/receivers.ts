/** How the receivers of events share the slots of a worker process. */
export const RECEIVER_LIMITS = {
  /** Deliveries to one receiver at a time. */
  maxOfOne: 4,
  /** The same for a slow receiver: one whose last response took longer than `slowMs`, or did not come. */
  maxOfSlow: 2,
  slowMs: 3000,
  /** The part of the slots that all slow receivers, and those without an earlier delivery, share. */
  unprovenShare: 0.5,
  /** A delivery that finds no slot is tried again after a pause between these two. */
  shortestPauseMs: 250,
  longestPauseMs: 60_000,
  /** Maximum number of receivers that are remembered. */
  receivers: 10_000,
} as const;

/** What is known about a receiver. */
interface Receiver {
  /** Deliveries in flight. */
  running: number;
  /** How long the last one took; undefined before the first. */
  lastMs: number | undefined;
  /** When the latest delivery that found no slot is due again. */
  nextMs: number;
}

/** Assumed response time of a receiver without an earlier delivery, for the first pauses. */
const UNKNOWN_MS = 500;

/**
 * Limits the deliveries to each receiver, an origin. A receiver that does not answer occupies a slot until the timeout: without limits one of
 * them, or one with many names or ports, could occupy all slots and block the webhooks of everyone else.
 */
export class Receivers {
  readonly #unprovenSlots: number;
  readonly #receivers = new Map<string, Receiver>();
  /** Deliveries in flight to slow or unknown receivers. */
  #unproven = 0;

  /** @param slots how many there are in this process */
  constructor(slots: number) {
    this.#unprovenSlots = Math.max(1, Math.floor(slots * RECEIVER_LIMITS.unprovenShare));
  }

  /** How many receivers are remembered. */
  get size(): number {
    return this.#receivers.size;
  }

  /**
   * Begins a delivery.
   * @param nowMs of a monotonic clock
   * @returns a function to call, with the time, when it has ended; or the pause, ms, before it is tried again
   */
  enter(url: string, nowMs: number): number | ((endMs: number) => void) {
    const name = originOf(url);
    const receiver = this.#receivers.get(name) ?? { running: 0, lastMs: undefined, nextMs: 0 };
    // Moved to the end of the map, so that the least recently used one is deleted first.
    this.#receivers.delete(name);
    this.#receivers.set(name, receiver);
    const { maxOfOne, maxOfSlow, slowMs, receivers } = RECEIVER_LIMITS;
    const slow = receiver.lastMs !== undefined && receiver.lastMs > slowMs;
    const proven = receiver.lastMs !== undefined && !slow;
    const max = slow ? maxOfSlow : maxOfOne;
    if (receiver.running >= max || (!proven && this.#unproven >= this.#unprovenSlots)) {
      return this.#pause(receiver, nowMs, max);
    }
    receiver.running += 1;
    if (!proven) this.#unproven += 1;
    if (this.#receivers.size > receivers) this.#removeIdle();
    return (endMs) => {
      receiver.running -= 1;
      if (!proven) this.#unproven -= 1;
      receiver.lastMs = endMs - nowMs;
    };
  }

  /** Deliveries without a slot are tried again one after the other, at the pace of the receiver. */
  #pause(receiver: Receiver, nowMs: number, max: number): number {
    const { shortestPauseMs, longestPauseMs } = RECEIVER_LIMITS;
    const latestMs = nowMs + longestPauseMs;
    const nextMs = Math.max(receiver.nextMs, nowMs + shortestPauseMs) + (receiver.lastMs ?? UNKNOWN_MS) / max;
    receiver.nextMs = Math.min(nextMs, latestMs);
    // Those at the end of a long line are spread over half of the longest pause, so that they do not all come at once.
    return nextMs < latestMs ? nextMs - nowMs : longestPauseMs * (1 - Math.random() / 2);
  }

  #removeIdle(): void {
    for (const [name, { running }] of this.#receivers) {
      if (this.#receivers.size <= RECEIVER_LIMITS.receivers) return;
      if (running === 0) this.#receivers.delete(name);
    }
  }
}

/** Services on different ports of a host are different receivers. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}
