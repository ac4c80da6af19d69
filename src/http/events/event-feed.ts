import type { Events, KeptEvent } from "../../engine/monitoring/events.ts";
import { Loop } from "../../loop.ts";

/** How often new events are read while somebody follows them, ms. */
const READ_MS = 1000;
/** How many are read at a time for one reader. */
const PAGE = 200;

/** Somebody who follows the events. */
interface Reader {
  /** The last event that was sent. */
  from: string;
  send(events: readonly KeptEvent[]): void;
}

/** Reads new events for all who follow them, while anybody does. */
export class EventFeed {
  readonly #events: Pick<Events, "after">;
  readonly #readers = new Set<Reader>();
  readonly #loop: Loop;

  constructor(events: Pick<Events, "after">, onError: (error: unknown) => void) {
    this.#events = events;
    this.#loop = new Loop({ intervalMs: READ_MS, tick: () => this.#read(), onError });
  }

  /** Sends each event after one, in order; returns a function that ends it. */
  follow(from: string, send: Reader["send"]): () => void {
    const reader = { from, send };
    this.#readers.add(reader);
    this.#loop.start();
    this.#loop.wake();
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) void this.#loop.stop();
    };
  }

  async #read(): Promise<number | undefined> {
    const pages = new Map<string, Promise<readonly KeptEvent[]>>();
    let isFull = false;
    for (const reader of this.#readers) {
      const page = pages.get(reader.from) ?? this.#events.after(reader.from, PAGE);
      pages.set(reader.from, page);
      const events = await page;
      isFull ||= events.length === PAGE;
      if (!this.#readers.has(reader) || events.length === 0) continue;
      reader.from = events.at(-1)?.id ?? reader.from;
      reader.send(events);
    }
    return isFull ? 0 : undefined;
  }
}
