import type { HandlerEnd } from "../engine/attempt/attempt-end.ts";
import type { Attempt } from "./attempt/attempt.ts";

/** Where an attempt runs: in a slot of its own, or with others in one. */
export interface Place {
  /** Runs the handler for this attempt and others; if left out, the attempt has a call of its own. */
  execute?(attempt: Attempt): Promise<HandlerEnd>;
  /** The handler has ended, or could not begin; with a promise of its end if it is abandoned. Its end is not stored yet. */
  settled(goingOn?: Promise<unknown>): void;
  /** The end is stored, or need not be. */
  over(): void;
}
