interface Slot {
  text: string | undefined;
}

/**
 * Yields answers in the order of their places, whatever order they arrive in: each as soon as all earlier ones have been yielded.
 * Its memory is bounded if the caller asks for room before adding a place.
 */
export class Resequencer implements AsyncIterable<string> {
  readonly #max: number;
  readonly #slots: Slot[] = [];
  #ended = false;
  #abandoned = false;
  #heard: (() => void) | undefined;
  #room: (() => void) | undefined;

  /** @param max how many answers may be pending at once */
  constructor(max: number) {
    this.#max = max;
  }

  /** Adds a place; returns the function that takes its answer. Not a promise, since a batch has thousands of places. */
  place(): (text: string) => void {
    const slot: Slot = { text: undefined };
    this.#slots.push(slot);
    return (text) => {
      slot.text = text;
      if (slot === this.#slots[0]) this.#heard?.();
    };
  }

  /** Whether to add another place: false once nobody reads the answers. A promise if there is no room yet. */
  room(): boolean | Promise<boolean> {
    const full = this.#slots.length >= this.#max && !this.#abandoned;
    return full ? this.#waitForRoom() : !this.#abandoned;
  }

  async #waitForRoom(): Promise<boolean> {
    while (this.#slots.length >= this.#max && !this.#abandoned) {
      await new Promise<void>((resolve) => {
        this.#room = resolve;
      });
    }
    return !this.#abandoned;
  }

  /** Call it when no more places will be added. */
  end(): void {
    this.#ended = true;
    this.#heard?.();
  }

  /** Call it when nobody reads the answers any more. */
  abandon(): void {
    this.#abandoned = true;
    this.#room?.();
    this.end();
  }

  /** The answers, joined if several are ready. Can be iterated only once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, void> {
    for (;;) {
      const texts: string[] = [];
      for (let text = this.#slots[0]?.text; text !== undefined; text = this.#slots[0]?.text) {
        texts.push(text);
        this.#slots.shift();
      }
      if (texts.length > 0) {
        yield texts.join("");
        // Only now, since answers that are not read make no room.
        this.#room?.();
      } else if (this.#abandoned || (this.#slots.length === 0 && this.#ended)) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#heard = resolve;
        });
        this.#heard = undefined;
      }
    }
  }
}
