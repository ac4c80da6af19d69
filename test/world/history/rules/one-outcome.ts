import { isTerminal, type Rule } from "../history.ts";

/** All answers that say how a task ended agree. A deleted result had an outcome too, which its answer does not show. */
export const oneOutcome: Rule = ({ tasks }) =>
  tasks.flatMap(({ id, calls }) => {
    const ends = calls.filter(({ told }) => isTerminal(told) && told !== "deleted");
    const states = new Set(ends.map(({ told }) => told));
    const fences = new Set(ends.flatMap(({ fence }) => (fence === undefined ? [] : [fence])));
    if (states.size > 1) return [`${id} has ended as ${[...states].join(" and as ")}`];
    return fences.size > 1 ? [`${id} has results of the fences ${[...fences].join(" and ")}`] : [];
  });
