import { messageOf } from "../../errors.ts";
import { jsonText } from "../../handler/json-text.ts";
import type { Logger } from "../../log.ts";
import { PermanentError } from "../sandbox/handler-end.ts";
import { LeaseLost } from "./steps.ts";

/** The outcome for a value: "full" if there is no room for it, "stale" if the task no longer belongs to this worker. */
export type WriteVerdict = "ok" | "full" | "stale";

/** Stores what a handler writes. */
export interface OutputStore {
  /** Keeps a value, given as JSON; values are kept in the order of the calls. */
  write(json: string): Promise<WriteVerdict>;
}

/** What one attempt writes while it runs. */
export class Output {
  readonly #id: string;
  readonly #store: OutputStore;
  readonly #log: Pick<Logger, "warn">;
  readonly #maxBytes: number;
  readonly #open = new Set<Promise<void>>();
  /** Bytes of the values that this attempt has written and that were not refused. */
  #bytes = 0;
  /** The size of the smallest value that the store had no room for. */
  #refusedBytes = Number.POSITIVE_INFINITY;
  #logged = false;

  /** @param maxBytes maximum size of all values of the task together */
  constructor(id: string, store: OutputStore, log: Pick<Logger, "warn">, maxBytes: number) {
    this.#id = id;
    this.#store = store;
    this.#log = log;
    this.#maxBytes = maxBytes;
  }

  /**
   * Stores a value. The handler need not await it, nor catch its rejection.
   * @throws TypeError (not JSON), PermanentError (no room for it), LeaseLost, ProblemError store-full; all by rejecting
   */
  write(value: unknown): Promise<void> {
    const written = this.#write(value);
    this.#open.add(written);
    written.then(
      () => this.#open.delete(written),
      (error: unknown) => {
        this.#open.delete(written);
        this.#logOnce(error);
      },
    );
    return written;
  }

  /** Resolves when everything written is stored or refused; undefined if it already is. */
  settled(): Promise<void> | undefined {
    return this.#open.size === 0 ? undefined : this.#settle();
  }

  async #settle(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  async #write(value: unknown): Promise<void> {
    const json = jsonText(value, "what is written");
    if (json === undefined) throw new TypeError("what is written is not JSON: undefined");
    const bytes = Buffer.byteLength(json);
    // What cannot fit is not even sent: a handler in a loop must not fill the memory of the worker.
    if (this.#bytes + bytes > this.#maxBytes || bytes >= this.#refusedBytes) throw this.#full();
    this.#bytes += bytes;
    const verdict = await this.#store.write(json);
    if (verdict === "ok") return;
    this.#bytes -= bytes;
    if (verdict === "stale") throw new LeaseLost(this.#id);
    this.#refusedBytes = Math.min(this.#refusedBytes, bytes);
    throw this.#full();
  }

  #full(): PermanentError {
    return new PermanentError(
      `the output of the task has no more room: it has at most MAX_OUTPUT (${this.#maxBytes}) bytes`,
    );
  }

  /** Most handlers do not await what they write, so a refusal is logged. */
  #logOnce(error: unknown): void {
    if (this.#logged) return;
    this.#logged = true;
    this.#log.warn(
      { reason: messageOf(error) },
      "attempt: could not store the handler's output; the task goes on, and further refusals are not logged",
    );
  }
}
