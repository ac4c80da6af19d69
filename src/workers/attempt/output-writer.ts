import type { WriteAnswer } from "../../store/task/attempt.ts";
import type { OutputStore, WriteVerdict } from "./output.ts";

/** Maximum number of values, and approximate number of characters, in one call. */
const CALL_LIMIT = { values: 100, length: 262_144 } as const;

interface PendingWrite {
  readonly json: string;
  resolve(verdict: WriteVerdict): void;
  reject(error: unknown): void;
}

/**
 * Sends what one attempt writes: all values of a turn of the event loop in one call, and one call at a time, so that they stay in
 * order and a fast writer makes larger calls instead of more.
 */
export class OutputWriter implements OutputStore {
  readonly #send: (values: readonly string[]) => Promise<WriteAnswer>;
  #gathered: PendingWrite[] = [];
  #busy = false;

  /** @param send stores as many of the values as there is room for, and returns how many, see attempt.lua */
  constructor(send: (values: readonly string[]) => Promise<WriteAnswer>) {
    this.#send = send;
  }

  write(json: string): Promise<WriteVerdict> {
    return new Promise((resolve, reject) => {
      this.#gathered.push({ json, resolve, reject });
      if (this.#busy) return;
      this.#busy = true;
      setImmediate(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    while (this.#gathered.length > 0) {
      const entries = this.#take();
      try {
        this.#answer(entries, await this.#send(entries.map(({ json }) => json)));
      } catch (error) {
        for (const entry of entries) entry.reject(error);
      }
    }
    this.#busy = false;
  }

  #take(): PendingWrite[] {
    let length = 0;
    const end = this.#gathered.findIndex(({ json }, n) => {
      length += json.length;
      return n === CALL_LIMIT.values || (n > 0 && length > CALL_LIMIT.length);
    });
    return this.#gathered.splice(0, end < 0 ? this.#gathered.length : end);
  }

  #answer(entries: readonly PendingWrite[], written: WriteAnswer): void {
    if (written === "stale") {
      for (const entry of entries) entry.resolve("stale");
      return;
    }
    for (const entry of entries.slice(0, written)) entry.resolve("ok");
    entries[written]?.resolve("full");
    // After a value that is too long there may be others that still fit.
    this.#gathered.unshift(...entries.slice(written + 1));
  }
}
