import type { Rule } from "../history.ts";

/** A result was made by a run of its own task, which had ended before the result was reported. */
export const resultsWereMade: Rule = ({ tasks }) =>
  tasks.flatMap(({ id, calls, runs }) =>
    calls.flatMap(({ fence, returnedAt }) => {
      if (fence === undefined) return [];
      const run = runs.find((one) => one.fence === fence);
      if (run === undefined) return [`${id} has the result of fence ${fence}, under which nothing ran`];
      const isMade = run.endedAt !== undefined && run.endedAt <= returnedAt;
      return isMade ? [] : [`${id} had the result of fence ${fence} before its run ended`];
    }),
  );
