import { acceptance, type History, type Rule, type TaskHistory } from "../history.ts";

/** A task with only one start, so that its fence says when it started: fences are given out in the order of starts. */
interface Started {
  readonly task: TaskHistory;
  readonly fence: number;
  readonly places: readonly Place[];
}

/** A place in line, and the call that reported it. */
interface Place {
  readonly index: number;
  readonly invokedAt: number;
  readonly returnedAt: number;
}

/** Maximum number of starts that a timeline lists. */
const MOST_STARTS = 10;

/**
 * In a line by arrival, a task starts before every task that is submitted after its place was reported, and before every task that later
 * gets the same place or a higher one; not index 0, which a task that has started has too. Only tasks that never returned to the line are judged, since the first start of others may not be
 * recorded. Each return may have moved others back by one place.
 */
export const startsInOrder: Rule = (history) => {
  const queues = new Set(history.tasks.map(({ queue }) => queue));
  return [...queues].flatMap((queue) =>
    overtakenIn(
      history.tasks.filter((task) => task.queue === queue),
      history,
    ),
  );
};

function overtakenIn(tasks: readonly TaskHistory[], history: History): string[] {
  const returns = tasks.reduce((sum, task) => sum + returnsOf(task), 0);
  const started = tasks.flatMap((task) => startedOf(task, history)).sort((a, b) => b.fence - a.fence);
  return started.flatMap((later) => {
    // Those with a higher fence started after it.
    const after = started.slice(0, started.indexOf(later));
    const overtaken = after.find((one) => isBefore(one, later, returns));
    return overtaken ? [`${later.task.id} started before ${overtaken.task.id}, which stood before it`] : [];
  });
}

function isBefore(one: Started, other: Started, returns: number): boolean {
  const submittedAt = other.task.calls[0]?.invokedAt ?? 0;
  return one.places.some(
    ({ index, returnedAt }) =>
      returnedAt < submittedAt ||
      other.places.some((later) => later.index > 0 && returnedAt < later.invokedAt && index + returns <= later.index),
  );
}

function startsOf({ calls }: TaskHistory): number | undefined {
  return calls.find(({ starts }) => starts !== undefined)?.starts;
}

function returnsOf(task: TaskHistory): number {
  const starts = startsOf(task);
  if (starts === undefined) return task.runs.length > 0 ? Number.POSITIVE_INFINITY : task.handBacks;
  return starts >= MOST_STARTS ? Number.POSITIVE_INFINITY : Math.max(0, starts - 1) + task.handBacks;
}

function startedOf(task: TaskHistory, { forkedAt }: History): Started[] {
  const accepted = acceptance(task);
  const [run] = task.runs;
  if (task.key !== undefined || run === undefined || startsOf(task) !== 1 || task.handBacks > 0) return [];
  // The reservations of the lost state are unknown.
  if (accepted === undefined || accepted.invokedAt < forkedAt) return [];
  const places = task.calls.flatMap(({ told, index, invokedAt, returnedAt }) =>
    told === "pending" && index !== undefined ? [{ index, invokedAt, returnedAt }] : [],
  );
  return [{ task, fence: run.fence, places }];
}
