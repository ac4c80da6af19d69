import { type BatchHandlerOptions, defineHandler } from "../../src/handler/define.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";

/** Longer than any test waits: a call that begins before that is full, or its worker is stopping. */
export const LONG = "60s";

/** A call of a handler. */
export interface BatchCallSeen {
  readonly inputs: readonly unknown[];
  readonly tasks: readonly TaskContext[];
}

/** A handler of the queue "many" that records its calls. By default it returns the inputs doubled. */
export function batchHandler(
  batch: { max: number; wait?: string },
  answer: (call: BatchCallSeen) => unknown = ({ inputs }) => inputs.map((input) => 2 * Number(input)),
  options: Partial<Omit<BatchHandlerOptions<unknown>, "queue" | "batch" | "run">> = {},
) {
  const calls: BatchCallSeen[] = [];
  const handler = defineHandler({
    queue: "many",
    concurrency: 1,
    attempts: 1,
    backoff: { base: "1ms" },
    ...options,
    batch: batch as BatchHandlerOptions<unknown>["batch"],
    run: (inputs: unknown[], tasks: TaskContext[]) => {
      calls.push({ inputs, tasks });
      return answer({ inputs, tasks }) as unknown[];
    },
  });
  /** How many tasks each call had. */
  const sizes = () => calls.map(({ inputs }) => inputs.length);
  return { calls, sizes, handler };
}
