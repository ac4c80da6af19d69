import { setTimeout as delay } from "node:timers/promises";
import type { Events, KeptEvent } from "../../engine/monitoring/events.ts";

/** How often new events are read while somebody follows them, ms. */
const READ_MS = 1000;
/** How many are read at a time. */
const PAGE = 200;

/** Reads new events, once for all who follow them. */
export class EventFeed {
  readonly #events: Pick<Events, "after">;
  readonly #onError: (error: unknown) => void;
  /** By the event after which they are read. */
  readonly #reading = new Map<string, Promise<readonly KeptEvent[]>>();

  constructor(events: Pick<Events, "after">, onError: (error: unknown) => void) {
    this.#events = events;
    this.#onError = onError;
  }

  /** Those after an event that there are, the first ones of many. @throws ProblemError store-unavailable */
  read(from: string): Promise<readonly KeptEvent[]> {
    return this.#events.after(from, PAGE);
  }

  /** Those after an event in a while, perhaps none; never rejects. */
  after(from: string): Promise<readonly KeptEvent[]> {
    const reading =
      this.#reading.get(from) ??
      delay(READ_MS, undefined, { ref: false })
        .then(() => this.read(from))
        .catch((error: unknown) => {
          this.#onError(error);
          return [];
        })
        .finally(() => this.#reading.delete(from));
    this.#reading.set(from, reading);
    return reading;
  }
}
