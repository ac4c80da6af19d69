import { type History, type HistoryEntry, historyOf, type Rule } from "./history.ts";
import { answersStand } from "./rules/answers-stand.ts";
import { fencesRise } from "./rules/fences-rise.ts";
import { keysInOrder } from "./rules/keys-in-order.ts";
import { nothingLost } from "./rules/nothing-lost.ts";
import { oneOutcome } from "./rules/one-outcome.ts";
import { onlySubmitted } from "./rules/only-submitted.ts";
import { resultsWereMade } from "./rules/results-were-made.ts";
import { startsInOrder } from "./rules/starts-in-order.ts";

const RULES: Readonly<Record<string, Rule>> = {
  "one outcome": oneOutcome,
  "results were made": resultsWereMade,
  "fences rise": fencesRise,
  "nothing lost": nothingLost,
  "answers stand": answersStand,
  "only what was submitted": onlySubmitted,
  "keys in order": keysInOrder,
  "starts in order": startsInOrder,
};

/** Everything in a history that breaks a promise, by rule. */
export function check(history: History): { rule: string; violation: string }[] {
  return Object.entries(RULES).flatMap(([rule, find]) => find(history).map((violation) => ({ rule, violation })));
}

/** Everything in recorded entries that breaks a promise, in sentences. */
export const brokenIn = (entries: readonly HistoryEntry[]): string[] =>
  check(historyOf(entries)).map(({ rule, violation }) => `${rule}: ${violation}`);
