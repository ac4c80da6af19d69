import { type Call, isTerminal, type Rule } from "../history.ts";

/** A call that began after an answer does not contradict it: a known task stays known, and one that has ended does not go on. */
export const answersStand: Rule = ({ tasks }) =>
  tasks.flatMap(({ id, calls }) => {
    const told = calls.filter((call) => call.told !== undefined);
    return told.flatMap((later) =>
      told
        .filter((earlier) => earlier.returnedAt < later.invokedAt && isTakenBack(earlier, later))
        .slice(0, 1)
        .map((earlier) => `${id} was ${earlier.told} (${earlier.answer}), then ${later.told} (${later.answer})`),
    );
  });

function isTakenBack(earlier: Call, later: Call): boolean {
  if (earlier.told === "unknown") return false;
  return later.told === "unknown" || (isTerminal(earlier.told) && later.told === "pending");
}
