import { acceptance, outcomeOf, type Rule } from "../history.ts";

/** Every task whose acceptance was told has ended, at the latest when everybody was asked at the end. */
export const nothingLost: Rule = ({ tasks }) =>
  tasks.flatMap((task) =>
    acceptance(task) === undefined || outcomeOf(task) !== undefined
      ? []
      : [`${task.id} was accepted, and nobody has heard of its end`],
  );
