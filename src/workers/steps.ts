/** Where the steps of one attempt are kept. */
export interface StepStore {
  /** The steps kept, name → JSON; null when the task is no longer this worker's. */
  load(): Promise<Map<string, string> | null>;
  /** Keeps the value of a step as JSON; `undo` says that the step can be undone. */
  keep(name: string, json: string, undo: boolean): Promise<"ok" | "stale">;
}

/** Another worker has the task now: what this one does no longer counts. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  constructor(id: string) {
    super(`task ${id} is no longer this worker's`);
  }
}

/** The durable steps of one attempt: a step that an earlier attempt has done is not done again. */
export class Steps {
  readonly #id: string;
  readonly #store: StepStore;
  #kept: Promise<Map<string, string>> | undefined;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(id: string, store: StepStore) {
    this.#id = id;
    this.#store = store;
  }

  /** @throws LeaseLost, PaihaoError store-unavailable, and what the work throws */
  async step<T>(name: string, work: () => Promise<T> | T, undo = false): Promise<T> {
    if (typeof name !== "string" || name === "") throw new TypeError("a step needs a name");
    const running = this.#running.get(name);
    if (running !== undefined) return running as Promise<T>;
    const step = this.#once(name, work, undo);
    this.#running.set(name, step);
    // A handler that catches what its step threw may try the step again.
    step.catch(() => this.#running.delete(name));
    return step;
  }

  async #once<T>(name: string, work: () => Promise<T> | T, undo: boolean): Promise<T> {
    const kept = (await this.#load()).get(name);
    if (kept !== undefined) return JSON.parse(kept) as T;
    const value = await work();
    const json = JSON.stringify(value) ?? "null";
    if ((await this.#store.keep(name, json, undo)) === "stale") throw new LeaseLost(this.#id);
    return value;
  }

  #load(): Promise<Map<string, string>> {
    this.#kept ??= this.#store.load().then(
      (kept) => {
        if (!kept) throw new LeaseLost(this.#id);
        return kept;
      },
      (error: unknown) => {
        this.#kept = undefined;
        throw error;
      },
    );
    return this.#kept;
  }
}
