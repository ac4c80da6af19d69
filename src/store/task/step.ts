import { jsonVerb } from "../library/verb.ts";
import type { Lease } from "./lease.ts";

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

/** The answer to a call of step.lua. */
interface StepAnswer {
  readonly verdict: StepVerdict;
  /** Where the next page begins; "0" after the last. */
  readonly cursor: string;
  /** By name, in no order. */
  readonly steps: readonly (readonly [name: string, step: StoredStep])[];
}

/** Reads or writes the durable steps of a running task. */
export const step = jsonVerb<StepCall, StepAnswer>({
  read: ({ verdict, cursor = "", page = [] }: { verdict: StepVerdict; cursor?: string; page?: string[] }) => ({
    verdict,
    cursor,
    steps: page.flatMap((name, n) => (n % 2 === 0 ? [[name, storedStep(page[n + 1] ?? "")] as const] : [])),
  }),
});

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
