import {
  defineInternalHandler,
  type Handler,
  INTERNAL_QUEUES,
  type StepOptions,
  type TaskContext,
} from "../handler.ts";

/** Leaves a handler's `run` at its first step that was not done: from there on there is nothing to undo. */
class Unwound extends Error {
  override readonly name = "Unwound";
}

/** A step that was done, and how it is undone. */
interface DoneStep {
  readonly name: string;
  undo(): Promise<unknown>;
}

/**
 * The handler of the queue in which what tasks have done is undone: the steps that succeeded, in reverse order, then the task
 * as a whole. It is retried over hours; what cannot be undone ends in its dead letters, for a person to see.
 */
export function supervisor(handlers: ReadonlyMap<string, Handler>): Handler<unknown> {
  return defineInternalHandler({
    queue: INTERNAL_QUEUES.undo,
    consumes: ["*/*"],
    concurrency: 4,
    attempts: 12,
    backoff: { base: "2s", max: "1h" },
    run: async (input, task) => {
      // The id is "<task>:undo:<queue>", as lua/lib/follow.lua makes it.
      const [id = "", , queue = ""] = task.id.split(":");
      const handler = handlers.get(queue);
      if (!handler) throw new Error(`the queue ${queue} has no handler here that could undo task ${id}`);
      const checked = await readInput(handler, input, task.mediaType);
      const context = { ...task, id, queue };
      for (const step of (await doneSteps(handler, checked, context, task)).reverse()) {
        // Each undoing is a durable step itself: one that was done is not done again when a later one fails.
        await task.step(`undo ${step.name}`, () => step.undo().then(() => true));
      }
      if (handler.undo) await handler.undo(checked, context);
      return { undone: id };
    },
  });
}

async function readInput(handler: Handler, input: unknown, mediaType: string): Promise<unknown> {
  if (!handler.schema || mediaType !== "application/json") return input;
  const checked = await handler.schema["~standard"].validate(input);
  return checked.issues ? input : checked.value;
}

/** Runs the handler over its kept steps, up to the first that is not there; the store has kept their values, not their undos. */
async function doneSteps(
  handler: Handler,
  input: unknown,
  context: TaskContext,
  task: TaskContext,
): Promise<DoneStep[]> {
  const done: DoneStep[] = [];
  const step = async <T>(name: string, _work: () => Promise<T> | T, options?: StepOptions<T>): Promise<T> => {
    const value = await task.step<T>(name, () => {
      throw new Unwound(`step ${name} was not done`);
    });
    if (options?.undo) done.push({ name, undo: async () => options.undo?.(value) });
    return value;
  };
  try {
    await handler.run(input, { ...context, step, progress: () => undefined });
  } catch (error) {
    // Whatever ends it, the steps before it are known; a run that threw once may well throw again.
    task.log.debug({ err: error }, "the steps to undo have been found");
  }
  return done;
}
