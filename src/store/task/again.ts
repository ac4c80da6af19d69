import { jsonVerb } from "../library/verb.ts";

interface Repetition {
  readonly id: string;
  readonly createdMs: number;
  /** The task that was submitted with its input. */
  readonly again: string;
}

/** Notes which task was submitted with the input of another. */
export const again = jsonVerb<Repetition, "noted" | "unknown">();
