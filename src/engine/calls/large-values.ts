import { ProblemError } from "../../errors.ts";
import type { Keys, LargeValue } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { ReservedTask } from "../../store/line/reserve.ts";
import type { Body, BodyRest } from "../../task.ts";
import { ByteBudget } from "./byte-budget.ts";

/** Limits for reading and writing large values. */
export const LARGE_DEFAULTS = {
  /** Maximum bytes being read from the store at once: it copies each value into its reply as a whole. */
  inFlightBytes: 32 * 1024 ** 2,
  /** How long a read waits for its turn, ms. */
  patienceMs: 15_000,
  /** Longer values are written on the connection of large values, so that they do not delay renewals and the like. */
  writeBytes: 1024 ** 2,
  /**
   * A longer result is sent to a caller in pieces of this many bytes, each read when the caller has taken those before it. At most one or
   * two pieces wait for each connection, so the number of connections limits the total.
   */
  pieceBytes: 64 * 1024,
} as const;

/** The first piece of a value, and how to read the rest. */
interface BegunValue {
  readonly start: Buffer;
  readonly rest: BodyRest;
}

/** The input of a task as it was read with it: null if it is long. */
type ReadInput = Pick<ReservedTask, "id" | "input" | "inputBytes">;

/** Whether a value must be written on the connection of large values. */
export function isLarge(value: string | Buffer): boolean {
  return value.length > LARGE_DEFAULTS.writeBytes;
}

/**
 * Reads results and inputs that are too long for the reply of a script: each separately, on a connection of their own, within a
 * byte budget. Concurrent reads of the same value share one.
 */
export class LargeValues {
  readonly #scripts: Pick<Scripts, "value" | "piece">;
  readonly #keys: Keys;
  readonly #budget = new ByteBudget(LARGE_DEFAULTS.inFlightBytes);
  readonly #underway = new Map<string, Promise<Buffer | null>>();

  /** @param scripts on the connection of large values */
  constructor(scripts: Pick<Scripts, "value" | "piece">, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /** The input of a task, which was read with it if it is short; null if it is no longer in the store. @throws ProblemError store-unavailable */
  async inputOf({ id, input, inputBytes }: ReadInput, queue: string): Promise<Buffer | null> {
    return input ?? (await this.read("input", id, inputBytes, this.#keys.partitionOfQueue(queue)));
  }

  /** The same, but the rest of a long input is read only as it is taken. */
  async inputInPieces({ id, input, inputBytes }: ReadInput, queue: string): Promise<Body | null> {
    if (input) return { body: input };
    const begun = await this.begin("input", id, inputBytes, this.#keys.partitionOfQueue(queue));
    return begun && { body: begun.start, rest: begun.rest };
  }

  /**
   * The value of a task; null if it is gone.
   * @param bytes its length, as the script returned it
   * @param partition that of the task
   * @throws ProblemError store-unavailable
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

  /**
   * Reads the first piece of a value of a task; null if it is gone, or no longer of that length.
   * @throws ProblemError store-unavailable
   */
  async begin(value: LargeValue, id: string, bytes: number, partition: number): Promise<BegunValue | null> {
    const key = this.#keys.value(value, partition, id);
    const tag = this.#keys.tag(partition);
    const read = (from: number) => {
      const part = { from, bytes: Math.min(LARGE_DEFAULTS.pieceBytes, bytes - from), of: bytes };
      return this.#budget.spend(part.bytes, LARGE_DEFAULTS.patienceMs, () => this.#scripts.piece(tag, key, part));
    };
    const start = await read(0);
    return start && { start, rest: { bytes: bytes - start.length, pieces: () => pieces(read, start.length, bytes) } };
  }
}

async function* pieces(read: (from: number) => Promise<Buffer | null>, start: number, end: number) {
  for (let from = start; from < end; ) {
    const piece = await read(from);
    if (piece === null) throw new ProblemError("expired", "It was deleted while it was being sent.");
    yield piece;
    from += piece.length;
  }
}
