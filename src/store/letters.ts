import type { State } from "../task.ts";

/** Prefixes of the numbers of a queue's rate buckets, see line/rate.lua. */
export const RATE_LETTERS = {
  accepted: "a",
  finished: "z",
  /** Finished tasks that failed. */
  failed: "e",
  /** Tasks that left their slots without finishing: they run again, or were canceled. */
  returned: "b",
} as const;

/** Prefixes of the call or fence of a verb whose answer is remembered, see library/answers.lua. */
export const ANSWER_LETTERS = {
  cancel: "c",
  fail: "f",
  deleteDead: "x",
  lose: "l",
  move: "m",
  release: "r",
  retry: "t",
  update: "u",
  write: "w",
} as const;

/** The letters of the states, in a task's hash and in notices. */
export const STATE_LETTERS = {
  waiting: "w",
  scheduled: "d",
  running: "r",
  retrying: "y",
  succeeded: "s",
  failed: "f",
  canceled: "c",
} as const satisfies Record<State, string>;

/** The other notices. */
export const TASK_NOTICES = {
  ...({ progress: "p", cancelRequested: "k", deleted: "g", output: "o" } as const),
  ...({ groupChanged: "m", groupEnded: "e" } as const),
};

const STATES_BY_LETTER: ReadonlyMap<string, State> = new Map(
  Object.entries(STATE_LETTERS).map(([state, letter]) => [letter, state as State]),
);

/** The state of a letter; null for any other text. */
export const stateOf = (letter: string): State | null => STATES_BY_LETTER.get(letter) ?? null;
