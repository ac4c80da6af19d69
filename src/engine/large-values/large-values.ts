import type { Keys, LargeValue } from "../../store/keys.ts";
import type { Scripts } from "../../store/scripts/scripts.ts";
import { ByteBudget } from "./byte-budget.ts";

/** Limits for reading and writing large values. */
export const LARGE_DEFAULTS = {
  /** Most bytes being read from the store at once: it copies each value into its reply in one go. */
  inFlightBytes: 32 * 1024 ** 2,
  /** How long a read waits for its turn, ms. */
  patienceMs: 15_000,
  /** Longer values are written on the connection of large values, so that they do not delay renewals and the like. */
  writeBytes: 1024 ** 2,
} as const;

/** Whether a value must be written on the connection of large values. */
export function isLarge(value: string | Buffer): boolean {
  return value.length > LARGE_DEFAULTS.writeBytes;
}

/**
 * Reads results and inputs that are too long for the reply of a script: each separately, on a connection of their own, within a
 * byte budget. Concurrent reads of the same value share one.
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
   * The value of a task; null if it is gone.
   * @param bytes its length, as the script returned it
   * @param partition that of the task
   * @throws PaihaoError store-unavailable
   */
  read(value: LargeValue, id: string, bytes: number, partition: number): Promise<Buffer | null> {
    const key = this.#keys.value(value, partition, id);
    let reading = this.#underway.get(key);
    if (reading === undefined) {
      const tag = this.#keys.tag(partition);
      reading = this.#budget
        .spend(bytes, LARGE_DEFAULTS.patienceMs, () => this.#scripts.value(tag, key))
        .finally(() => this.#underway.delete(key));
      this.#underway.set(key, reading);
    }
    return reading;
  }
}
