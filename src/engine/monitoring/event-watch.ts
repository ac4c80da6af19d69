import { reasonOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { Loop, type Role } from "../../loop.ts";
import type { Engine } from "../engine.ts";

/** How often a process looks, ms: half as often as a gap that excuses late heartbeats. */
const LOOK_MS = 5000;

/** Looks for lost workers and for queues that have drained, which no call reports. Every process does. */
export class EventWatch implements Role {
  readonly #loop: Loop;

  constructor({ events, workers, queues }: Pick<Engine, "events" | "workers" | "queues">, log: Logger) {
    this.#loop = new Loop({
      intervalMs: LOOK_MS,
      tick: async () => {
        await events.look(() => workers.tasksByEnd(queues.names));
        return undefined;
      },
      onError: (error) => log.debug({ reason: reasonOf(error) }, "events: could not look; trying again later"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }
}
