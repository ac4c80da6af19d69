import { setTimeout as delay } from "node:timers/promises";
import type { KeptEvent } from "../../engine/monitoring/events.ts";

/** How often new events are read while somebody follows them, ms. */
const READ_MS = 1000;

/** Waits a moment, then reads the events after one, perhaps none: once for all who ask for the same. Never rejects. */
export type EventFeed = (from: string) => Promise<readonly KeptEvent[]>;

/** @param onError called for failed reads, which followers repeat */
export function eventFeed(read: EventFeed, onError: (error: unknown) => void): EventFeed {
  const reading = new Map<string, ReturnType<EventFeed>>();
  const readLater = async (from: string) => {
    await delay(READ_MS, undefined, { ref: false });
    // What happens during the read is for the next one.
    reading.delete(from);
    try {
      return await read(from);
    } catch (error) {
      onError(error);
      return [];
    }
  };
  return (from) => {
    const known = reading.get(from) ?? readLater(from);
    reading.set(from, known);
    return known;
  };
}
