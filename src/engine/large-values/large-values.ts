import type { Keys, LargeValue } from "../../store/keys.ts";
import type { Scripts } from "../../store/scripts/scripts.ts";
import { ByteBudget } from "./byte-budget.ts";

/** How large values are read and written. */
export const LARGE_DEFAULTS = {
  /** Bytes that may be on their way from the store at a time: it copies each into its answer in one go. */
  inFlightBytes: 32 * 1024 ** 2,
  /** How long a reader waits for its turn, ms. */
  patienceMs: 15_000,
  /** What is longer is written on the connection of large values, so that renewals and the like do not stand behind it. */
  writeBytes: 1024 ** 2,
} as const;

/** Whether a value is to be written on the connection of large values. */
export function isLarge(value: string | Buffer): boolean {
  return value.length > LARGE_DEFAULTS.writeBytes;
}

/**
 * Reads results and inputs that are too long to travel in the answer of a script: one by one, on a connection of their own, and
 * only so many bytes at a time. Whoever wants a value that is being read gets the same bytes.
 */
export class LargeValues {
  readonly #scripts: Pick<Scripts, "value">;
  readonly #keys: Keys;
  readonly #budget = new ByteBudget(LARGE_DEFAULTS.inFlightBytes);
  readonly #underway = new Map<string, Promise<Buffer | null>>();

  /** @param scripts on the connection of large values */
  constructor(scripts: Pick<Scripts, "value">, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /**
   * The value of a task; null when it is gone.
   * @param bytes its length, as it was told
   * @throws PaihaoError store-unavailable
   */
  read(value: LargeValue, id: string, bytes: number): Promise<Buffer | null> {
    const key = this.#keys.value(value, id);
    let reading = this.#underway.get(key);
    if (reading === undefined) {
      const tag = this.#keys.tag(this.#keys.partitionOf(id));
      reading = this.#budget
        .spend(bytes, LARGE_DEFAULTS.patienceMs, () => this.#scripts.value(tag, key))
        .finally(() => this.#underway.delete(key));
      this.#underway.set(key, reading);
    }
    return reading;
  }
}
