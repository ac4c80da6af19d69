import { acceptance, type Rule, type Run, type TaskHistory, winnerOf } from "../history.ts";

interface Keyed {
  readonly task: TaskHistory;
  readonly run: Run;
  readonly endedAt: number;
}

/**
 * Tasks of one key run one at a time, in the order of submission. Only the runs that made the results count: another one may still go on
 * after it has lost its lease.
 */
export const keysInOrder: Rule = ({ tasks }) => {
  const keys = new Map<string, Keyed[]>();
  for (const task of tasks) {
    const run = winnerOf(task);
    if (task.key === undefined || run?.endedAt === undefined) continue;
    const key = `${task.queue} ${task.key}`;
    keys.set(key, [...(keys.get(key) ?? []), { task, run, endedAt: run.endedAt }]);
  }
  return [...keys].flatMap(([key, all]) => {
    const sorted = all.sort((a, b) => a.run.beganAt - b.run.beganAt);
    return sorted.flatMap((next, n) => {
      const before = sorted[n - 1];
      if (before === undefined) return [];
      if (next.run.beganAt < before.endedAt)
        return [`${before.task.id} and ${next.task.id} of ${key} ran at the same time`];
      const overtaken = sorted.slice(0, n).find((one) => wasAccepted(next.task, one.task));
      return overtaken
        ? [`${overtaken.task.id} of ${key} ran before ${next.task.id}, which was submitted before it`]
        : [];
    });
  });
};

/** Whether a task was accepted before the other one was submitted at all. */
function wasAccepted(first: TaskHistory, second: TaskHistory): boolean {
  const [one, other] = [acceptance(first), acceptance(second)];
  return one !== undefined && other !== undefined && one.knownAt < other.invokedAt;
}
