import { jsonVerb } from "../library/verb.ts";

/** Where a task that waits is moved. Exactly one of the four. */
export interface Move {
  readonly priority?: number | undefined;
  /** The start or the end of the line. */
  readonly place?: "first" | "last" | undefined;
  /** When it joins the line, from now. */
  readonly delayMs?: number | undefined;
  /** The same as a time by the clock of Redis. */
  readonly notBeforeMs?: number | undefined;
}

interface MoveCall extends Move {
  readonly call: string;
  readonly id: string;
}

/** The verdict, see move.lua. */
export type MoveVerdict = "moved" | "not-waiting" | "ordered" | "late" | "far" | "unknown";

/** Moves a task that waits. */
export const move = jsonVerb<MoveCall, MoveVerdict>({ filled: ["call"] });
