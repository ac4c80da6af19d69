import { named, names, verb, word, written } from "./codec.ts";
import type { Lease } from "./lease.ts";
import { list, text } from "./reply.ts";

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

/** The answer to a call of step.lua. */
interface StepAnswer {
  readonly verdict: StepVerdict;
  /** Where the next page begins; "0" after the last. */
  readonly cursor: string;
  /** By name, in no order. */
  readonly steps: readonly (readonly [name: string, step: StoredStep])[];
}

/** Reads or writes the durable steps of a running task. */
export const step = verb({
  layout: { args: STEP, answer: ANSWER },
  write: (call: StepCall) => written(STEP, call),
  read: (reply): StepAnswer => {
    const { verdict, cursor, page } = named(ANSWER, reply);
    const pairs = list(page).map(text);
    const steps = pairs.flatMap((name, n) => (n % 2 === 0 ? [[name, storedStep(pairs[n + 1] ?? "")] as const] : []));
    return { verdict: word(verdict), cursor: text(cursor), steps };
  },
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
