import type { Call } from "./answers.ts";
import { names, verb, written } from "./codec.ts";
import { text } from "./reply.ts";

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

interface MoveCall extends Move, Call {
  readonly id: string;
}

/** The verdict, see move.lua. */
export type MoveVerdict = "moved" | "not-waiting" | "ordered" | "late" | "far" | "unknown";

const MOVE = names<MoveCall>("id", "call", "priority", "place", "delayMs", "notBeforeMs");

/** Moves a task that waits. */
export const move = verb(
  { args: MOVE },
  (script) =>
    async (tag: string, of: MoveCall): Promise<MoveVerdict> =>
      text(await script.text(tag, written(MOVE, of))) as MoveVerdict,
);
