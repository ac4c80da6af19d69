import type { TaskContext } from "../../handler/task-context.ts";

/**
 * Whether no earlier attempt has done the step of this name; marks it as done, under the task's fence, unless `before`, which is
 * called first, throws.
 */
export async function isFirst(task: TaskContext, step: string, before?: () => Promise<void>): Promise<boolean> {
  let first = false;
  await task.step(step, async () => {
    await before?.();
    first = true;
    return true;
  });
  return first;
}
