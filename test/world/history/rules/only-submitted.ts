import type { Rule } from "../history.ts";

/** What runs was submitted before, by a call that was not refused for good. */
export const onlySubmitted: Rule = ({ tasks }) =>
  tasks.flatMap(({ id, calls, runs }) => {
    const [run] = runs;
    if (!run) return [];
    const submits = calls.filter(({ kind, outcome }) => kind === "submit" && outcome !== "failed");
    if (submits.length === 0) return [`${id} ran, though nobody submitted it, or it was refused`];
    return submits.some(({ invokedAt }) => invokedAt <= run.beganAt) ? [] : [`${id} ran before it was submitted`];
  });
