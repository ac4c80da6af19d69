import type { StepVerdict, StoredStep } from "../store/task/attempt.ts";
import type { StepStore } from "../workers/attempt/steps.ts";

/** The steps of a task, in memory. */
export class StepRecord implements StepStore {
  readonly #steps = new Map<string, StoredStep>();

  /** @param done values of steps that an earlier attempt has done */
  constructor(done: Readonly<Record<string, unknown>> = {}) {
    for (const [name, value] of Object.entries(done)) this.#put(name, JSON.stringify(value) ?? "null");
  }

  /** The values of the steps that are done, by name, in the order in which they began. */
  get values(): Record<string, unknown> {
    const done = [...this.#steps].flatMap(([name, { json }]) => (json === undefined ? [] : [[name, JSON.parse(json)]]));
    return Object.fromEntries(done);
  }

  async load(): Promise<Map<string, StoredStep>> {
    return new Map(this.#steps);
  }

  async begin(name: string): Promise<StepVerdict> {
    this.#put(name, undefined);
    return "ok";
  }

  async keep(name: string, json: string): Promise<StepVerdict> {
    this.#put(name, json);
    return "ok";
  }

  async undone(): Promise<StepVerdict> {
    return "ok";
  }

  #put(name: string, json: string | undefined): void {
    const number = this.#steps.get(name)?.number ?? this.#steps.size + 1;
    this.#steps.set(name, { number, json, undo: "none" });
  }
}
