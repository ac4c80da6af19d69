import { acceptance, outcomeOf, type Rule } from "../history.ts";

/** Every task that was reported as accepted has ended, at the latest by the final reading. */
export const nothingLost: Rule = ({ tasks }) =>
  tasks.flatMap((task) =>
    acceptance(task) === undefined || outcomeOf(task) !== undefined
      ? []
      : [`${task.id} was accepted, and nobody has heard of its end`],
  );
