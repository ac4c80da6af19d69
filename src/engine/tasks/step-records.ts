import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { StepVerdict, StoredStep } from "../../store/task/attempt.ts";
import type { Lease } from "../../store/task/lease.ts";

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
  async all(lease: Lease): Promise<Map<string, StoredStep> | null> {
    const steps: (readonly [string, StoredStep])[] = [];
    let name = "0";
    do {
      const page = await this.#call(lease, { verb: "read", name });
      if (page.verdict !== "ok") return null;
      steps.push(...page.steps);
      name = page.cursor;
    } while (name !== "0");
    return new Map(steps.sort(([, a], [, b]) => a.number - b.number));
  }

  /** Records that a step with an undo begins. */
  async begin(lease: Lease, name: string, maxBytes: number): Promise<StepVerdict> {
    return (await this.#call(lease, { verb: "begin", name, undo: true, ...room(maxBytes) })).verdict;
  }

  /** Stores the value of a step as JSON; `undo`: whether the step can be undone. */
  async keep(
    lease: Lease,
    step: { name: string; value: string; undo: boolean },
    maxBytes: number,
  ): Promise<StepVerdict> {
    return (await this.#call(lease, { verb: "keep", ...step, ...room(maxBytes) })).verdict;
  }

  /** Records that a step was undone. */
  async undone(lease: Lease, name: string): Promise<StepVerdict> {
    return (await this.#call(lease, { verb: "undone", name })).verdict;
  }

  #call({ queue, id, fence }: Lease, step: Omit<Parameters<Scripts["step"]>[1], "id" | "fence">) {
    return this.#scripts.step(this.#keys.tagOfQueue(queue), { id, fence, ...step });
  }
}

/** @param maxBytes limit for the value of one step */
function room(maxBytes: number) {
  return { max: MAX_STEPS, bytes: STEPS_ROOM * maxBytes };
}
