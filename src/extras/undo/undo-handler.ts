import type { Failure } from "../../engine/tasks/attempt-end.ts";
import { problemResult } from "../../engine/tasks/result.ts";
import { messageOf } from "../../errors.ts";
import { defineInternalHandler, type Handler } from "../../handler/define.ts";
import { isGiveUp, isRetryLater, RetryAfter } from "../../handler/intents.ts";
import { INTERNAL_QUEUES, ownQueueOf } from "../../handler/internal-queues.ts";
import type { TaskContext } from "../../handler/task-context.ts";
import { type UndoTask, undoOf } from "../../handler/undos.ts";
import type { StoredStep } from "../../store/task/attempt.ts";
import { inSpanOf } from "../../trace/tracing.ts";
import { LeaseLost, type StepStore } from "../../workers/attempt/steps.ts";
import { stepStoreOf } from "../../workers/attempt/task-context.ts";
import type { StandIn, StandInModule } from "../../workers/stand-in.ts";

/** The retries of an undo: `attempts` with this backoff, half of which is random, last at least a day. */
const UNDO_DEFAULTS = { attempts: 36, backoff: { base: "2s", max: "2h" }, timeoutMs: 60_000 } as const;
/** How many tasks each worker process undoes at once. */
const CONCURRENCY = 4;

/** Whether a queue undoes the tasks of a partition. */
export const isUndoQueue = (queue: string): boolean => ownQueueOf(queue) === INTERNAL_QUEUES.undo;

/**
 * The handler of the undo queue: undoes the recorded steps of a task, the last first, then the task as a whole. `run` of the
 * task's handler is never called. If undoing fails, it becomes a dead letter that names the steps that are not undone.
 * @param options for tests, which cannot wait for a day
 */
export function undoHandler(
  handlers: ReadonlyMap<string, Handler>,
  options: { attempts?: number; backoff?: { base: string; max: string } } = {},
): StandIn {
  const { attempts, backoff } = { ...UNDO_DEFAULTS, ...options };
  const handler = defineInternalHandler({
    queue: INTERNAL_QUEUES.undo,
    consumes: ["*/*"],
    concurrency: CONCURRENCY,
    attempts,
    backoff,
    run: async (input, task) => {
      const { id, queue } = subjectOf(task.id);
      const of = handlers.get(queue);
      if (!of) throw new Error(`the queue ${queue} has no handler here that could undo task ${id}`);
      await undo(of, await readInput(of, input, task.mediaType), task);
      return { undone: id };
    },
  });
  return {
    ...handler,
    module: import.meta.url,
    subjectOf: (undoId) => subjectOf(undoId).queue,
    timeoutMsOf: (undoId) => handlers.get(subjectOf(undoId).queue)?.timeoutMs ?? UNDO_DEFAULTS.timeoutMs,
    lastFailure: (undoId, failure, steps) => {
      const of = handlers.get(subjectOf(undoId).queue);
      return { ...failure, result: problemOf(failure, of ? standing(of, steps) : [...steps.keys()]) };
    },
  };
}

/** The same in a child process. */
export const standIn: StandInModule["standIn"] = (handlers) => undoHandler(handlers);

/** The task to undo: the id of the undo is "<task>:undo:<queue>", see task/follow.lua. */
function subjectOf(undoId: string): { id: string; queue: string } {
  const [id = "", , queue = ""] = undoId.split(":");
  return { id, queue };
}

async function readInput(handler: Handler, input: unknown, mediaType: string): Promise<unknown> {
  if (!handler.schema || mediaType !== "application/json") return input;
  // Even if a newer schema refuses the input, it was accepted once, and its steps must be undone.
  const checked = await handler.schema["~standard"].validate(input);
  return checked.issues ? input : checked.value;
}

async function undo(handler: Handler, input: unknown, undoing: TaskContext): Promise<void> {
  const store = stepStoreOf(undoing);
  const steps = await store.load();
  if (!steps) throw new LeaseLost(undoing.id);
  const task = undoTask(undoing);
  for (const [name, step] of [...steps].reverse()) {
    if (step.undo === "done") continue;
    const undoStep = undoOf(handler, name);
    if (undoStep === undefined) {
      if (step.undo === "none") continue;
      throw new Error(`step ${name} was begun as one that can be undone, but the handler has no undo for it any more`);
    }
    task.signal.throwIfAborted();
    const spec = { name: "undo step", kind: "internal", facts: { "paihao.step": name } } as const;
    const undoIt = () => undoStep(kept(step), { input, task, name });
    await attempt(`the undo of step ${name}`, () => inSpanOf(undoing, spec, undoIt));
    await note(store, undoing.id, name);
  }
  const whole = handler.undo?.["*"];
  if (whole === undefined) return;
  task.signal.throwIfAborted();
  const done = [...steps].map(([name, step]) => ({ name, value: kept(step) }));
  await attempt("the undo of the whole task", () => whole({ input, task, steps: done }));
}

/** Once recorded, it is not undone again, whatever happens later. */
async function note(store: StepStore, undoId: string, name: string): Promise<void> {
  if ((await store.undone(name)) === "stale") throw new LeaseLost(undoId);
}

/** Copied member by member, since the getters of a context are lost when it is spread. */
function undoTask(undoing: TaskContext): UndoTask {
  const { attempt: nth, maxAttempts, fence, signal, log, query, mediaType, caller, traceHeaders } = undoing;
  const of = subjectOf(undoing.id);
  return { ...of, attempt: nth, maxAttempts, fence, signal, log, query, mediaType, caller, traceHeaders };
}

function kept({ json }: StoredStep): unknown {
  return json === undefined ? undefined : JSON.parse(json);
}

/** Calls an undo. Whatever it throws counts as an error and is retried, since nothing else would undo the step. */
async function attempt(what: string, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (thrown) {
    const message = `${what} failed: ${messageOf(thrown)}`;
    if (isRetryLater(thrown)) throw new RetryAfter(thrown.afterMs, message, { cause: thrown });
    throw isGiveUp(thrown) || !(thrown instanceof Error) ? new Error(message, { cause: thrown }) : thrown;
  }
}

/** The names of the steps that should be undone but are not. */
function standing(handler: Handler, steps: ReadonlyMap<string, StoredStep>): string[] {
  return [...steps]
    .filter(([name, { undo: was }]) => was === "due" || (was === "none" && undoOf(handler, name) !== undefined))
    .map(([name]) => name);
}

function problemOf({ result }: Failure, names: readonly string[]): Failure["result"] {
  const problem = JSON.parse(Buffer.from(result.body).toString("utf8")) as Record<string, unknown>;
  const detail =
    names.length > 0
      ? "The work of the task could not be undone: the named steps are still in effect."
      : "The steps of the task were undone, but the undo of the task as a whole failed.";
  return problemResult({
    ...problem,
    status: result.status,
    title: "The task could not be undone",
    detail,
    steps: names,
  });
}
