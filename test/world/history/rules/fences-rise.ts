import { type Rule, winnerOf } from "../history.ts";

/**
 * Each run of a queue has a fence of its own, and the outcome of a task is that of its highest one: a lower one belonged to a worker that
 * had lost its lease. Runs may begin in another order, since a worker can stand still between its reservation and the beginning; but a
 * process never begins a task under a lower fence than before.
 */
export const fencesRise: Rule = ({ tasks }) => {
  const holders = new Map<string, string>();
  return tasks.flatMap((task) => {
    const found: string[] = [];
    const winner = winnerOf(task);
    const last = new Map<number, number>();
    for (const { queue, id, fence, pid } of task.runs) {
      const holder = holders.get(`${queue} ${fence}`);
      if (holder !== undefined) found.push(`${holder} and ${id} both ran under fence ${fence}`);
      holders.set(`${queue} ${fence}`, id);
      const before = last.get(pid) ?? 0;
      if (fence < before) found.push(`${id} ran under fence ${fence} after ${before} in process ${pid}`);
      last.set(pid, fence);
      if (winner && fence > winner.fence)
        found.push(`${id} ran under fence ${fence}, but has the result of ${winner.fence}`);
    }
    return found;
  });
};
