import type { Keys } from "../../store/keys.ts";
import type { Lease, Scripts, StepVerdict, StoredStep } from "../../store/verbs/scripts.ts";
import type { Homes } from "../partitions/homes.ts";

/** Maximum number of steps of a task. */
const MAX_STEPS = 10_000;
/** The limit for all steps of a task together, as a multiple of the limit for one. */
const STEPS_ROOM = 4;

/** Stores the durable steps of running tasks. */
export class StepRecords {
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  readonly #homes: Homes;

  constructor(scripts: Scripts, keys: Keys, homes: Homes) {
    this.#scripts = scripts;
    this.#keys = keys;
    this.#homes = homes;
  }

  /** The steps of a task by name, in the order in which they began; null if the lease is stale. */
  all(lease: Lease): Promise<Map<string, StoredStep> | null> {
    return this.#at(
      lease,
      (tag) => this.#scripts.step.all(tag, lease),
      (steps) => steps === null,
    );
  }

  /** Records that a step with an undo begins. */
  begin(lease: Lease, name: string, maxBytes: number): Promise<StepVerdict> {
    return this.#at(lease, (tag) => this.#scripts.step.begin(tag, { ...lease, name }, room(maxBytes)));
  }

  /** Stores the value of a step as JSON; `undo`: whether the step can be undone. */
  keep(lease: Lease, step: { name: string; value: string; undo: boolean }, maxBytes: number): Promise<StepVerdict> {
    return this.#at(lease, (tag) => this.#scripts.step.keep(tag, { ...lease, ...step }, room(maxBytes)));
  }

  /** Records that a step was undone. */
  undone(lease: Lease, name: string): Promise<StepVerdict> {
    return this.#at(lease, (tag) => this.#scripts.step.undone(tag, { ...lease, name }));
  }

  #at<Answer>(
    { id }: Lease,
    call: (tag: string) => Promise<Answer>,
    isAbsent = (answer: Answer): boolean => answer === "stale",
  ): Promise<Answer> {
    return this.#homes.at(id, (partition) => call(this.#keys.tag(partition)), isAbsent);
  }
}

/** @param maxBytes limit for the value of one step */
function room(maxBytes: number) {
  return { max: MAX_STEPS, bytes: STEPS_ROOM * maxBytes };
}
