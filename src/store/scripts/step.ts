import type { Lease } from "./lease.ts";
import { list, text } from "./reply.ts";
import type { Argument, Script } from "./script.ts";

/** A durable step of a task. */
export interface StoredStep {
  /** Its place in the order in which the steps of the task were begun. */
  readonly number: number;
  /** JSON; undefined while it is not known whether it was done. */
  readonly json: string | undefined;
  /** Whether it was begun as one that can be undone, and whether it has been. */
  readonly undo: "none" | "due" | "done";
}
/** What became of a step that is to begin, or of its value: see step.lua. */
export type StepVerdict = "ok" | "stale" | "canceled" | "deadline" | "many" | "large";
/** How many steps a task may have, and how many bytes all of them together. */
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

  /** The steps of a task by name, in the order of their beginning; null when the lease is no longer the worker's. */
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

  /** Notes that a step which can be undone begins. */
  begin(tag: string, step: Lease & { name: string }, room: StepRoom): Promise<StepVerdict> {
    return this.#verdict(tag, [step.id, step.fence, "begin", step.name, "", "1", room.most, room.bytes]);
  }

  /** Keeps the value of a step as JSON; `undo` says that the step can be undone. */
  keep(
    tag: string,
    step: Lease & { name: string; value: string; undo: boolean },
    room: StepRoom,
  ): Promise<StepVerdict> {
    const { id, fence, name, value, undo } = step;
    return this.#verdict(tag, [id, fence, "keep", name, value, undo ? "1" : "", room.most, room.bytes]);
  }

  /** Notes that a step has been undone. */
  undone(tag: string, step: Lease & { name: string }): Promise<StepVerdict> {
    return this.#verdict(tag, [step.id, step.fence, "undone", step.name, "", "", 0, 0]);
  }

  async #verdict(tag: string, args: readonly Argument[]): Promise<StepVerdict> {
    const [verdict] = list(await this.#script.text(tag, args));
    return text(verdict) as StepVerdict;
  }
}

/** Reads a step as step.lua stores it. */
function storedStep(stored: string): StoredStep {
  const space = stored.indexOf(" ");
  const letter = stored[space - 1];
  return {
    number: Number.parseInt(stored, 10),
    json: stored.slice(space + 1) || undefined,
    undo: letter === "i" ? "due" : letter === "u" ? "done" : "none",
  };
}
