import { setTimeout as delay } from "node:timers/promises";
import { put } from "./api.ts";
import type { Fleet, Release } from "./fleet.ts";

const CLIENTS = 3;
const QUEUES = ["work.both", "fair.both", "keyed.both", "pair.both", "flaky.both"];
const KEYS = ["ann", "ben", "cem"];
const PAUSE_MS = 15;
const RETRY_MS = 50;

/** Callers that submit one task after the other to whichever API there is, as through a load balancer, until each is accepted. */
export class Load {
  /** The accepted tasks, in the order of their acceptance: by whom, into which queue, of whose. */
  readonly accepted = new Map<string, { readonly api: Release; readonly queue: string; readonly who: string }>();
  /** How often a caller had to submit again. */
  again = 0;
  readonly #fleet: Fleet;
  readonly #clients: Promise<void>[];
  #running = true;
  #next = 0;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    this.#clients = Array.from({ length: CLIENTS }, () => this.#client());
  }

  /** Resolves when each API that there is has accepted so many more. */
  async more(count: number): Promise<void> {
    const accepted = (api: Release) => [...this.accepted.values()].filter((one) => one.api === api).length;
    const goals = this.#fleet.apis.map((api) => [api, accepted(api) + count] as const);
    while (goals.some(([api, goal]) => accepted(api) < goal)) await delay(20);
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#clients);
  }

  async #client(): Promise<void> {
    while (this.#running) {
      this.#next += 1;
      const id = `load-${this.#next}`;
      const queue = QUEUES[this.#next % QUEUES.length] ?? "";
      const who = KEYS[this.#next % KEYS.length] ?? "";
      const input = { ms: 5, who };
      for (let attempt = this.#next; ; attempt += 1) {
        const { apis } = this.#fleet;
        const api = apis[attempt % apis.length];
        if (api !== undefined && (await this.#isAccepted(api, queue, id, input))) {
          this.accepted.set(id, { api, queue, who });
          break;
        }
        this.again += 1;
        await delay(RETRY_MS);
      }
      await delay(PAUSE_MS);
    }
  }

  async #isAccepted(api: Release, queue: string, id: string, input: unknown): Promise<boolean> {
    try {
      const { status } = await put(this.#fleet.url(api) ?? "", queue, id, input);
      return status === 202 || status === 200;
    } catch {
      // Its connection is gone: it may have been accepted, so the same id is sent again.
      return false;
    }
  }
}
