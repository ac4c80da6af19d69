/** How the receivers of events share the slots of a worker process. */
export const RECEIVER_LIMITS = {
  /** Deliveries to one host at a time. */
  mostOfHost: 4,
  /** The same where its last answer took longer than `slowMs`, or did not come. */
  mostOfSlowHost: 2,
  slowMs: 3000,
  /** All hosts that were slow, or have not been told anything yet, share this part of the slots. */
  unprovenShare: 0.5,
  /** A delivery that finds no slot comes again after a pause between these. */
  shortestPauseMs: 250,
  longestPauseMs: 60_000,
  /** Hosts that are remembered. */
  hosts: 10_000,
} as const;

/** What is known of a host. */
interface Host {
  /** Deliveries under way. */
  running: number;
  /** How long the last one took; undefined before it. */
  lastMs: number | undefined;
  /** When the last delivery that found no slot is to come again. */
  nextMs: number;
}

/** What an answer takes of a host that has not given one yet, for the first pauses. */
const UNKNOWN_MS = 500;

/**
 * Lets deliveries to each host through, a few at a time. A receiver that does not answer holds a slot until its time is up:
 * without a bound, one of them, or many names of one, would hold them all, and nobody else would be told.
 */
export class Receivers {
  readonly #unprovenSlots: number;
  readonly #hosts = new Map<string, Host>();
  /** Deliveries under way to hosts that were slow or are unknown. */
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
   * @param nowMs of a clock that is never set back
   * @returns what is to be called, with the time, when it has ended; or the pause, ms, after which it is to be tried again
   */
  enter(url: string, nowMs: number): number | ((endMs: number) => void) {
    const name = hostOf(url);
    const host = this.#hosts.get(name) ?? { running: 0, lastMs: undefined, nextMs: 0 };
    // The last that was asked for is the last in the map, and the last to be forgotten.
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

  /** Those that find no slot come again one after the other, as fast as the host takes them. */
  #pause(host: Host, nowMs: number, most: number): number {
    const { shortestPauseMs, longestPauseMs } = RECEIVER_LIMITS;
    const latestMs = nowMs + longestPauseMs;
    const nextMs = Math.max(host.nextMs, nowMs + shortestPauseMs) + (host.lastMs ?? UNKNOWN_MS) / most;
    host.nextMs = Math.min(nextMs, latestMs);
    // Those at the end of a long line are spread over half of the longest pause: they are not to come all at once.
    return nextMs < latestMs ? nextMs - nowMs : longestPauseMs * (1 - Math.random() / 2);
  }

  #forget(): void {
    for (const [name, { running }] of this.#hosts) {
      if (this.#hosts.size <= RECEIVER_LIMITS.hosts) return;
      if (running === 0) this.#hosts.delete(name);
    }
  }
}

/** Ports of one host are one receiver: what hangs is the host. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : url;
}
