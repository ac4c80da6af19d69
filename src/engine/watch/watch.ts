import type { Inspection } from "./inspect.ts";
import type { Common } from "./watched.ts";

/** What a watch is for. */
export interface WatchOptions {
  /** It counts for the presence of what is watched, for as long as it lasts. */
  readonly keeps?: boolean;
  /** It is also woken when a task may have written more. */
  readonly output?: boolean;
}

/** A caller's watch of a task or a group. A change that comes while the caller is busy is not lost: it finds the latest state. */
export class Watch<Seen extends Common = Inspection> {
  /** As it was read last; null if it is unknown, or no longer exists. */
  seen: Seen | null = null;
  readonly options: WatchOptions;
  readonly #of: { readonly outputs: number };
  readonly #leave: () => void;
  #isNews = false;
  #isOver = false;
  #heard: () => void = () => undefined;

  /** @param leave called when it ends */
  constructor(of: { readonly outputs: number }, options: WatchOptions, leave: () => void) {
    this.#of = of;
    this.options = options;
    this.#leave = leave;
  }

  /** Increases when the task may have written more. */
  get outputs(): number {
    return this.#of.outputs;
  }

  /** Waits for the next change, or until it is woken; false once it has ended. One call at a time. */
  async next(): Promise<boolean> {
    if (!this.#isNews && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    this.#isNews = false;
    return !this.#isOver;
  }

  /** Ends the wait of {@link next}, or the next one. */
  wake(): void {
    this.#isNews = true;
    this.#heard();
  }

  /** Ends the watch; idempotent. */
  readonly stop = (): void => {
    if (!this.#isOver) this.#leave();
    this.#isOver = true;
    this.wake();
  };
}
