/** Lets calls with the same name begin in the order in which they were made, although each waits for something first. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @param ready what the call waits for, besides earlier calls; null for nothing else. The call handles a failure itself. */
  take<T>(name: string, ready: Promise<unknown> | null, call: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    if (before === undefined && ready === null) return call();
    const turn = Promise.allSettled([before, ready]);
    this.#last.set(name, turn);
    return turn.then(() => {
      if (this.#last.get(name) === turn) this.#last.delete(name);
      return call();
    });
  }
}
