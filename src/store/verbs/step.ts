import { named, names, verb, written } from "./codec.ts";
import type { Lease } from "./lease.ts";
import { list, text } from "./reply.ts";
import type { Script } from "./script.ts";

/** A durable step of a task. */
export interface StoredStep {
  /** Its place in the order in which the steps of the task began. */
  readonly number: number;
  /** JSON; undefined while it is unknown whether it was done. */
  readonly json: string | undefined;
  /** Whether it was recorded as undoable, and whether it has been undone. */
  readonly undo: "none" | "due" | "done";
}
/** The verdict on the begin or the value of a step, see step.lua. */
export type StepVerdict = "ok" | "stale" | "canceled" | "deadline" | "abandoned" | "many" | "large";
/** Maximum number of steps of a task, and of bytes in all. */
interface StepRoom {
  readonly max: number;
  readonly bytes: number;
}

/** A call of step.lua. */
interface StepCall extends Partial<StepRoom>, Pick<Lease, "id" | "fence"> {
  readonly verb: "read" | "begin" | "keep" | "undone";
  /** The name of the step; for reading, the cursor of the page, "0" for the first. */
  readonly name: string;
  readonly value?: string;
  readonly undo?: boolean;
}

const STEP = names<StepCall>("id", "fence", "verb", "name", "value", "undo", "max", "bytes");
const ANSWER = ["verdict", "cursor", "page"] as const;

/** Reads and writes the durable steps of running tasks. */
export const step = verb({ args: STEP, answer: ANSWER }, (script) => new StepScript(script));

/** The verbs of step.lua. */
class StepScript {
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  /** The steps of a task by name, in the order in which they began; null if the worker no longer has the lease. */
  async all(tag: string, { id, fence }: Pick<Lease, "id" | "fence">): Promise<Map<string, StoredStep> | null> {
    const steps = new Map<string, StoredStep>();
    let name = "0";
    do {
      const { verdict, cursor, page } = await this.#call(tag, { id, fence, verb: "read", name });
      if (text(verdict) !== "ok") return null;
      const pairs = list(page);
      for (let i = 0; i < pairs.length; i += 2) steps.set(text(pairs[i]), storedStep(text(pairs[i + 1])));
      name = text(cursor);
    } while (name !== "0");
    return new Map([...steps].sort(([, a], [, b]) => a.number - b.number));
  }

  /** Records that an undoable step begins. */
  begin(tag: string, { id, fence, name }: Lease & { name: string }, room: StepRoom): Promise<StepVerdict> {
    return this.#verdict(tag, { id, fence, verb: "begin", name, undo: true, ...room });
  }

  /** Stores the value of a step as JSON; `undo`: the step can be undone. */
  keep(
    tag: string,
    { id, fence, name, value, undo }: Lease & { name: string; value: string; undo: boolean },
    room: StepRoom,
  ): Promise<StepVerdict> {
    return this.#verdict(tag, { id, fence, verb: "keep", name, value, undo, ...room });
  }

  /** Records that a step has been undone. */
  undone(tag: string, { id, fence, name }: Lease & { name: string }): Promise<StepVerdict> {
    return this.#verdict(tag, { id, fence, verb: "undone", name });
  }

  async #verdict(tag: string, step: StepCall): Promise<StepVerdict> {
    return text((await this.#call(tag, step)).verdict) as StepVerdict;
  }

  async #call(tag: string, step: StepCall) {
    return named(ANSWER, await this.#script.text(tag, written(STEP, step)));
  }
}

/** Parses a step as stored by step.lua. */
function storedStep(stored: string): StoredStep {
  const space = stored.indexOf(" ");
  const letter = stored[space - 1];
  return {
    number: Number.parseInt(stored, 10),
    json: stored.slice(space + 1) || undefined,
    undo: letter === "i" ? "due" : letter === "u" ? "done" : "none",
  };
}
