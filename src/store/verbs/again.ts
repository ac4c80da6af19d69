import { names, verb, written } from "./codec.ts";
import { text } from "./reply.ts";

interface Repetition {
  readonly id: string;
  readonly createdMs: number;
  /** The task that was submitted with its input. */
  readonly again: string;
}

const REPETITION = names<Repetition>("id", "createdMs", "again");

/** Notes which task was submitted with the input of another. */
export const again = verb(
  { args: REPETITION },
  (script) =>
    async (tag: string, repetition: Repetition): Promise<"noted" | "unknown"> =>
      text(await script.text(tag, written(REPETITION, repetition))) as "noted" | "unknown",
);
