import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Fleet } from "./fleet.ts";
import { type Calls, KINDS } from "./kinds.ts";

/** How often a task of each kind is submitted, ms. */
const EVERY_MS = 400;
/** Maximum number of tasks that callers wait for; further calls are left out and counted. */
const MOST_OPEN = 200;

/** Submits tasks of all kinds at a fixed rate, and receives webhooks. */
export class SoakLoad {
  submitted = 0;
  /** Calls that found no server for a long time, or an answer too late. */
  failed = 0;
  leftOut = 0;
  hooks = 0;
  /** Latencies of the synchronous calls since they were last taken, ms. */
  #latencies: number[] = [];
  #open = 0;
  #isEnding = false;

  /** The latencies of synchronous calls to the process that stays, since this was last called. */
  takeLatencies(): number[] {
    return this.#latencies.splice(0);
  }

  /** Goes on until it is ended. */
  async run(fleet: Fleet): Promise<void> {
    const receiver = createServer((request, response) => {
      this.hooks += 1;
      request.resume();
      response.end();
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    for (let n = 0; !this.#isEnding; n += 1) {
      for (const [place, kind] of KINDS.entries()) {
        // The first kind is the one that is measured.
        const which = place === 0 || n % 2 === 0 ? "steady" : "api";
        void this.#one(place === 0, () => kind({ url: () => fleet.url(which), hook } satisfies Calls, n));
      }
      await delay(EVERY_MS);
    }
    while (this.#open > 0) await delay(50);
    receiver.close();
    receiver.closeAllConnections();
  }

  end(): void {
    this.#isEnding = true;
  }

  async #one(isMeasured: boolean, act: () => Promise<unknown>): Promise<void> {
    if (this.#open >= MOST_OPEN) {
      this.leftOut += 1;
      return;
    }
    this.#open += 1;
    this.submitted += 1;
    const begun = performance.now();
    try {
      await act();
      if (isMeasured) this.#latencies.push(performance.now() - begun);
    } catch {
      this.failed += 1;
    } finally {
      this.#open -= 1;
    }
  }
}
