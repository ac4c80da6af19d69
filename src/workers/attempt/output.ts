import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { PermanentError } from "../sandbox/handler-end.ts";
import { LeaseLost } from "./steps.ts";

/** What became of a value: "full" if there is no room for it, "stale" if the task is no longer this worker's. */
export type WriteVerdict = "ok" | "full" | "stale";

/** Where what a handler writes is kept. */
export interface OutputStore {
  /** Keeps a value, given as JSON; values are kept in the order of the calls. */
  write(json: string): Promise<WriteVerdict>;
}

/** What the output of an attempt depends on. */
export interface OutputParts {
  readonly id: string;
  readonly store: OutputStore;
  readonly log: Pick<Logger, "warn">;
  /** Most bytes that all values of the task may have together. */
  readonly maxBytes: number;
}

/** What one attempt writes while it runs. */
export class Output {
  readonly #parts: OutputParts;
  readonly #open = new Set<Promise<void>>();
  /** Bytes of the values that this attempt has written, as far as they were not refused. */
  #bytes = 0;
  /** The size of the smallest value that the store had no room for. */
  #refusedBytes = Number.POSITIVE_INFINITY;
  #told = false;

  constructor(parts: OutputParts) {
    this.#parts = parts;
  }

  /**
   * Keeps a value. The handler need not wait for it, nor catch what it rejects with.
   * @throws TypeError (not JSON), PermanentError (no room for it), LeaseLost, PaihaoError store-full; all by rejecting
   */
  write(value: unknown): Promise<void> {
    const written = this.#write(value);
    this.#open.add(written);
    written.then(
      () => this.#open.delete(written),
      (error: unknown) => {
        this.#open.delete(written);
        this.#tell(error);
      },
    );
    return written;
  }

  /** Resolves when all that was written is stored or refused; undefined where it is. */
  settled(): Promise<void> | undefined {
    return this.#open.size === 0 ? undefined : this.#settle();
  }

  async #settle(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  async #write(value: unknown): Promise<void> {
    const { store, maxBytes, id } = this.#parts;
    const json = jsonOf(value);
    const bytes = Buffer.byteLength(json);
    // What cannot fit is not even sent: a handler in a loop must not fill the memory of the worker.
    if (this.#bytes + bytes > maxBytes || bytes >= this.#refusedBytes) throw this.#full();
    this.#bytes += bytes;
    const verdict = await store.write(json);
    if (verdict === "ok") return;
    this.#bytes -= bytes;
    if (verdict === "stale") throw new LeaseLost(id);
    this.#refusedBytes = Math.min(this.#refusedBytes, bytes);
    throw this.#full();
  }

  #full(): PermanentError {
    return new PermanentError(
      `the output of the task has no more room: it has at most MAX_OUTPUT (${this.#parts.maxBytes}) bytes`,
    );
  }

  /** Most handlers do not look at what becomes of their words. */
  #tell(error: unknown): void {
    if (this.#told) return;
    this.#told = true;
    this.#parts.log.warn(
      { reason: messageOf(error) },
      "attempt: what the handler wrote was not stored; the task goes on, and further refusals are not logged",
    );
  }
}

function jsonOf(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw new TypeError(`what is written is not JSON: ${messageOf(error)}`, { cause: error });
  }
  if (json === undefined) throw new TypeError(`what is written is not JSON: ${typeof value}`);
  return json;
}
