import type { Keys } from "../../store/keys.ts";
import type { Lease, Scripts, StepVerdict, StoredStep } from "../../store/verbs/scripts.ts";

/** Maximum number of steps of a task. */
const MAX_STEPS = 10_000;
/** The limit for all steps of a task together, as a multiple of the limit for one. */
const STEPS_ROOM = 4;

/** Stores the durable steps of running tasks. */
export class StepRecords {
  readonly #scripts: Scripts;
  readonly #keys: Keys;

  constructor(scripts: Scripts, keys: Keys) {
    this.#scripts = scripts;
    this.#keys = keys;
  }

  /** The steps of a task by name, in the order in which they began; null if the lease is stale. */
  all(lease: Lease): Promise<Map<string, StoredStep> | null> {
    return this.#scripts.step.all(this.#tagOf(lease), lease);
  }

  /** Records that a step with an undo begins. */
  begin(lease: Lease, name: string, maxBytes: number): Promise<StepVerdict> {
    return this.#scripts.step.begin(this.#tagOf(lease), { ...lease, name }, room(maxBytes));
  }

  /** Stores the value of a step as JSON; `undo`: whether the step can be undone. */
  keep(lease: Lease, step: { name: string; value: string; undo: boolean }, maxBytes: number): Promise<StepVerdict> {
    return this.#scripts.step.keep(this.#tagOf(lease), { ...lease, ...step }, room(maxBytes));
  }

  /** Records that a step was undone. */
  undone(lease: Lease, name: string): Promise<StepVerdict> {
    return this.#scripts.step.undone(this.#tagOf(lease), { ...lease, name });
  }

  #tagOf({ queue }: Lease): string {
    return this.#keys.tagOfQueue(queue);
  }
}

/** @param maxBytes limit for the value of one step */
function room(maxBytes: number) {
  return { max: MAX_STEPS, bytes: STEPS_ROOM * maxBytes };
}
