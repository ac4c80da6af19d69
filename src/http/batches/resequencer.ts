interface Slot {
  text: string | undefined;
}

/**
 * Yields answers in the order in which they were added, whatever order they arrive in: each as soon as all before it have been
 * yielded. Bounded: adding waits for room.
 */
export class Resequencer implements AsyncIterable<string> {
  readonly #most: number;
  readonly #slots: Slot[] = [];
  #ended = false;
  #abandoned = false;
  #heard: (() => void) | undefined;
  #room: (() => void) | undefined;

  /** @param most most answers that may be pending at once */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Adds a pending answer, which must not reject. Resolves when there is room for another; to false if nobody reads any more.
   */
  async add(answer: Promise<string>): Promise<boolean> {
    const slot: Slot = { text: undefined };
    this.#slots.push(slot);
    void answer.then((text) => {
      slot.text = text;
      if (slot === this.#slots[0]) this.#heard?.();
    });
    while (this.#slots.length >= this.#most && !this.#abandoned) {
      await new Promise<void>((resolve) => {
        this.#room = resolve;
      });
    }
    return !this.#abandoned;
  }

  /** No more answers will be added. */
  end(): void {
    this.#ended = true;
    this.#heard?.();
  }

  /** Nobody reads the answers any more. */
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
