/** How the receivers of events share the slots of a worker process. */
export const RECEIVER_LIMITS = {
  /** Deliveries to one host at a time. */
  mostOfHost: 4,
  /** The same for a host whose last response took longer than `slowMs`, or did not come. */
  mostOfSlowHost: 2,
  slowMs: 3000,
  /** All slow hosts, and hosts without an earlier delivery, share this part of the slots. */
  unprovenShare: 0.5,
  /** A delivery that finds no slot is tried again after a pause between these two. */
  shortestPauseMs: 250,
  longestPauseMs: 60_000,
  /** Most hosts that are remembered. */
  hosts: 10_000,
} as const;

/** What is known about a host. */
interface Host {
  /** Deliveries in flight. */
  running: number;
  /** How long the last one took; undefined before the first. */
  lastMs: number | undefined;
  /** When the latest delivery that found no slot is due again. */
  nextMs: number;
}

/** Assumed response time of a host without an earlier delivery, for the first pauses. */
const UNKNOWN_MS = 500;

/**
 * Limits the deliveries to each host. A receiver that does not answer occupies a slot until the timeout: without limits one of
 * them, or one with many names, could occupy all slots and block the webhooks of everyone else.
 */
export class Receivers {
  readonly #unprovenSlots: number;
  readonly #hosts = new Map<string, Host>();
  /** Deliveries in flight to slow or unknown hosts. */
  #unproven = 0;

  /** @param slots how many there are in this process */
  constructor(slots: number) {
    this.#unprovenSlots = Math.max(1, Math.floor(slots * RECEIVER_LIMITS.unprovenShare));
  }

  /** How many hosts are remembered. */
  get size(): number {
    return this.#hosts.size;
  }

  /**
   * Begins a delivery.
   * @param nowMs of a monotonic clock
   * @returns a function to call, with the time, when it has ended; or the pause, ms, before it is tried again
   */
  enter(url: string, nowMs: number): number | ((endMs: number) => void) {
    const name = hostOf(url);
    const host = this.#hosts.get(name) ?? { running: 0, lastMs: undefined, nextMs: 0 };
    // Moved to the end of the map, so that the host used longest ago is forgotten first.
    this.#hosts.delete(name);
    this.#hosts.set(name, host);
    const { mostOfHost, mostOfSlowHost, slowMs, hosts } = RECEIVER_LIMITS;
    const slow = host.lastMs !== undefined && host.lastMs > slowMs;
    const proven = host.lastMs !== undefined && !slow;
    const most = slow ? mostOfSlowHost : mostOfHost;
    if (host.running >= most || (!proven && this.#unproven >= this.#unprovenSlots)) {
      return this.#pause(host, nowMs, most);
    }
    host.running += 1;
    if (!proven) this.#unproven += 1;
    if (this.#hosts.size > hosts) this.#forget();
    return (endMs) => {
      host.running -= 1;
      if (!proven) this.#unproven -= 1;
      host.lastMs = endMs - nowMs;
    };
  }

  /** Deliveries without a slot are tried again one after the other, at the pace of the host. */
  #pause(host: Host, nowMs: number, most: number): number {
    const { shortestPauseMs, longestPauseMs } = RECEIVER_LIMITS;
    const latestMs = nowMs + longestPauseMs;
    const nextMs = Math.max(host.nextMs, nowMs + shortestPauseMs) + (host.lastMs ?? UNKNOWN_MS) / most;
    host.nextMs = Math.min(nextMs, latestMs);
    // Those at the end of a long line are spread over half of the longest pause, so that they do not all come at once.
    return nextMs < latestMs ? nextMs - nowMs : longestPauseMs * (1 - Math.random() / 2);
  }

  #forget(): void {
    for (const [name, { running }] of this.#hosts) {
      if (this.#hosts.size <= RECEIVER_LIMITS.hosts) return;
      if (running === 0) this.#hosts.delete(name);
    }
  }
}

/** All ports of a host count as one receiver. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : url;
}
