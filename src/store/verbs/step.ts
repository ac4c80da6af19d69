import type { Lease } from "./lease.ts";
import { list, text } from "./reply.ts";
import type { Argument, Script } from "./script.ts";

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
export type StepVerdict = "ok" | "stale" | "canceled" | "deadline" | "many" | "large";
/** Maximum number of steps of a task, and of bytes in all. */
interface StepRoom {
  readonly most: number;
  readonly bytes: number;
}

/** Reads and writes the durable steps of running tasks. */
export const step = (script: Script): StepScript => new StepScript(script);

/** The verbs of step.lua. */
class StepScript {
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  /** The steps of a task by name, in the order in which they began; null if the worker no longer has the lease. */
  async all(tag: string, { id, fence }: Pick<Lease, "id" | "fence">): Promise<Map<string, StoredStep> | null> {
    const steps = new Map<string, StoredStep>();
    let cursor = "0";
    do {
      const [verdict, next, pairs] = list(await this.#script.text(tag, [id, fence, "read", cursor, "", "", 0, 0]));
      if (text(verdict) !== "ok") return null;
      const page = list(pairs);
      for (let i = 0; i < page.length; i += 2) steps.set(text(page[i]), storedStep(text(page[i + 1])));
      cursor = text(next);
    } while (cursor !== "0");
    return new Map([...steps].sort(([, a], [, b]) => a.number - b.number));
  }

  /** Records that an undoable step begins. */
  begin(tag: string, step: Lease & { name: string }, room: StepRoom): Promise<StepVerdict> {
    return this.#verdict(tag, [step.id, step.fence, "begin", step.name, "", "1", room.most, room.bytes]);
  }

  /** Stores the value of a step as JSON; `undo`: the step can be undone. */
  keep(
    tag: string,
    step: Lease & { name: string; value: string; undo: boolean },
    room: StepRoom,
  ): Promise<StepVerdict> {
    const { id, fence, name, value, undo } = step;
    return this.#verdict(tag, [id, fence, "keep", name, value, undo ? "1" : "", room.most, room.bytes]);
  }

  /** Records that a step has been undone. */
  undone(tag: string, step: Lease & { name: string }): Promise<StepVerdict> {
    return this.#verdict(tag, [step.id, step.fence, "undone", step.name, "", "", 0, 0]);
  }

  async #verdict(tag: string, args: readonly Argument[]): Promise<StepVerdict> {
    const [verdict] = list(await this.#script.text(tag, args));
    return text(verdict) as StepVerdict;
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
