import type { Engine } from "../engine/engine.ts";
import type { Lease } from "../store/scripts.ts";

/** Another worker has the task now: what this one does no longer counts. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
  constructor(id: string) {
    super(`task ${id} is no longer this worker's`);
  }
}

/** The durable steps of one attempt: a step that an earlier attempt has done is not done again. */
export class Steps {
  readonly #engine: Engine;
  readonly #lease: Lease;
  #kept: Promise<Map<string, string>> | undefined;
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(engine: Engine, lease: Lease) {
    this.#engine = engine;
    this.#lease = lease;
  }

  /** @throws LeaseLost, PaihaoError store-unavailable, and what the work throws */
  step<T>(name: string, work: () => Promise<T> | T, undo = false): Promise<T> {
    if (typeof name !== "string" || name === "") throw new TypeError("a step needs a name");
    const running = this.#running.get(name);
    if (running !== undefined) return running as Promise<T>;
    const step = this.#once(name, work, undo);
    this.#running.set(name, step);
    return step;
  }

  async #once<T>(name: string, work: () => Promise<T> | T, undo: boolean): Promise<T> {
    this.#kept ??= this.#load();
    const kept = (await this.#kept).get(name);
    if (kept !== undefined) return JSON.parse(kept) as T;
    const value = await work();
    const json = JSON.stringify(value) ?? "null";
    if ((await this.#engine.keepStep(this.#lease, name, json, undo)) === "stale") throw new LeaseLost(this.#lease.id);
    return value;
  }

  async #load(): Promise<Map<string, string>> {
    const kept = await this.#engine.steps(this.#lease);
    if (!kept) throw new LeaseLost(this.#lease.id);
    return kept;
  }
}
