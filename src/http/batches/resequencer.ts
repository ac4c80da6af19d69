interface Slot {
  text: string | undefined;
}

/**
 * Puts answers in the order of the questions, whatever order they come in: each is handed on as soon as all before it have
 * been. Bounded: whoever asks waits for room.
 */
export class InOrder implements AsyncIterable<string> {
  readonly #most: number;
  readonly #slots: Slot[] = [];
  #ended = false;
  #abandoned = false;
  #heard: (() => void) | undefined;
  #room: (() => void) | undefined;

  /** @param most questions that may be open at once */
  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a question whose answer is on its way and never fails; true when there is room for another, false when nobody listens. */
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

  /** No more questions will come. */
  end(): void {
    this.#ended = true;
    this.#heard?.();
  }

  /** Nobody will take the answers any more. */
  abandon(): void {
    this.#abandoned = true;
    this.#room?.();
    this.end();
  }

  /** The answers, several at a time where several are there. To be read once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, void> {
    for (;;) {
      const texts: string[] = [];
      for (let text = this.#slots[0]?.text; text !== undefined; text = this.#slots[0]?.text) {
        texts.push(text);
        this.#slots.shift();
      }
      if (texts.length > 0) {
        yield texts.join("");
        // Only now: what nobody takes makes no room.
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
