import { reasonOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { Loop, type Role } from "../../loop.ts";
import type { Engine } from "../engine.ts";

/** How often a process looks, ms: half as often as a gap that excuses late heartbeats. */
const LOOK_MS = 5000;

/** Looks for lost workers, for queues that have drained, and at a full store, which no call reports. Every process does. */
export class EventWatch implements Role {
  readonly #loop: Loop;
  readonly #events: Engine["events"];
  #unlisten: (() => void) | undefined;

  constructor({ events, workers, queues }: Pick<Engine, "events" | "workers" | "queues">, log: Logger) {
    this.#events = events;
    let wasFull = false;
    this.#loop = new Loop({
      intervalMs: LOOK_MS,
      tick: async () => {
        await events.look(() => workers.tasksByEnd(queues.names));
        const { fullStore } = events;
        const isFull = fullStore !== undefined;
        if (isFull && !wasFull)
          log.warn(
            { reason: fullStore },
            "events: the store has no memory left; it refuses submissions until there is room",
          );
        if (!isFull && wasFull) log.warn("events: the store has room again, and takes submissions");
        wasFull = isFull;
        return undefined;
      },
      onError: (error) => log.debug({ reason: reasonOf(error) }, "events: could not look; trying again later"),
    });
  }

  start(): void {
    this.#unlisten ??= this.#events.onFullStore(() => this.#loop.wake());
    this.#loop.start();
  }

  stop(): Promise<void> {
    this.#unlisten?.();
    this.#unlisten = undefined;
    return this.#loop.stop();
  }
}
