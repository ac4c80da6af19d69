interface Slot {
  text: string | undefined;
}

/**
 * Passes answers on in the order in which they were asked for, whatever order they arrive in: each as soon as all before it
 * have been passed on. Bounded: adding waits for room.
 */
export class Resequencer implements AsyncIterable<string> {
  readonly #most: number;
  readonly #slots: Slot[] = [];
  #ended = false;
  #abandoned = false;
  #heard: (() => void) | undefined;
  #room: (() => void) | undefined;

  /** @param most answers that may be outstanding at once */
  constructor(most: number) {
    this.#most = most;
  }

  /** Adds an answer to come, which must not reject. Resolves when there is room for another; false when nobody reads any more. */
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

  /** The answers, several at a time where several are ready. To be iterated once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, void> {
    for (;;) {
      const texts: string[] = [];
      for (let text = this.#slots[0]?.text; text !== undefined; text = this.#slots[0]?.text) {
        texts.push(text);
        this.#slots.shift();
      }
      if (texts.length > 0) {
        yield texts.join("");
        // Only now: what is not read makes no room.
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
