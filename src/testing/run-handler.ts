import type { Received } from "../client/handler-types.ts";
import { readConfig } from "../config/config.ts";
import { settingsOf } from "../engine/settings.ts";
import {
  type AbortCause,
  type AttemptEnd,
  attemptEnd,
  type HandlerEnd,
  TaskAborted,
} from "../engine/tasks/attempt-end.ts";
import { consumesType, type Handler } from "../handler/define.ts";
import type { Problem } from "../handler/intents.ts";
import { runInScope } from "../log.ts";
import type { Answer } from "../task.ts";
import { type Progress, progressOf } from "../workers/attempt/reporter.ts";
import { Context } from "../workers/attempt/task-context.ts";
import { perform } from "../workers/sandbox/perform.ts";
import { AttemptFailed, type AttemptRecord, recordedLog, StepRecord } from "./attempt-record.ts";

const JSON_TYPE = "application/json";

/** The options of {@link runHandler}: facts about the task, and what earlier attempts have done. */
export interface RunOptions {
  /** The values of steps that an earlier attempt has done, by name: they are not done again. */
  readonly steps?: Readonly<Record<string, unknown>> | undefined;
  /** From 1; default 1. */
  readonly attempt?: number | undefined;
  readonly id?: string | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** The media type of an input that is bytes; default: what the handler consumes. */
  readonly mediaType?: string | undefined;
  /** The name of the API key; default: none. */
  readonly caller?: string | undefined;
  readonly submittedAt?: Date | undefined;
  /** Cancels the task when it fires. */
  readonly signal?: AbortSignal | undefined;
}

/** What a handler returned, as a caller gets it. */
type ResultOf<R> = R extends Response ? Response : Received<R>;

/** A successful attempt. */
export interface HandlerRun<R = unknown> extends AttemptRecord {
  /** A value as it is after JSON, bytes, undefined, or a Response with the headers that are kept. */
  readonly result: R;
}

/**
 * Runs one attempt of a handler without a server and without a store. Validation, limits, timeout, steps and the result are as
 * in a worker with the default settings. `isolate`, `rate`, `undo` and other options that concern several tasks have no effect.
 * @throws AttemptFailed if the handler threw, gave up or was too slow, or if its input or result is invalid
 */
export async function runHandler<I, R, Q extends string, In>(
  typed: Handler<I, R, Q, In>,
  input: NoInfer<In>,
  options: RunOptions = {},
): Promise<HandlerRun<ResultOf<R>>> {
  // From here on the types of the caller's handler do not matter.
  const handler = typed as Handler<unknown, unknown, string, unknown>;
  const config = readConfig({});
  const settings = settingsOf(handler, config);
  const { id = "test", attempt = 1, signal } = options;
  const given = inputOf(handler, input, options.mediaType);
  const facts = {
    ...{ id, queue: handler.queue, attempt, maxAttempts: settings.attempts, fence: "1", mediaType: given.mediaType },
    query: options.query === undefined ? "" : JSON.stringify(options.query),
    createdMs: (options.submittedAt ?? new Date()).getTime(),
    caller: options.caller ?? "",
    trace: "",
  };
  const progress: Progress[] = [];
  const output: unknown[] = [];
  const steps = new StepRecord(options.steps);
  const { log, entries } = recordedLog();
  const abort = new AttemptSignal(settings.timeoutMs, signal);
  const context = new Context(
    facts,
    {
      signal: abort.signal,
      handlerLog: log,
      reporter: { report: (percent, message) => progress.push(progressOf(percent, message)) },
      steps,
      output: {
        async write(json) {
          output.push(JSON.parse(json));
          return "ok";
        },
      },
    },
    handler,
    config,
  );
  let returned: unknown;
  let thrown: unknown;
  const observed: Handler = {
    ...handler,
    async run(value, task) {
      try {
        returned = await handler.run(value, task);
        return returned;
      } catch (error) {
        thrown = error;
        throw error;
      }
    },
  };
  const performed = runInScope({ requestId: id }, () => perform(observed, given, context, config.maxResultBytes));
  const end = await abort.within(performed);
  const record: AttemptRecord = { progress, output, steps: steps.values, log: entries };
  const outcome = attemptEnd(end, { settings, attempt, aborted: abort.cause }, 0);
  if (abort.cause !== "canceled" && typeof outcome === "object" && "result" in outcome) {
    return { result: received(returned, outcome.result) as ResultOf<R>, ...record };
  }
  const cause = abort.cause === undefined ? thrown : abort.signal.reason;
  throw failed(abort.cause === "canceled" ? "canceled" : outcome, settings.attempts - attempt, { record, cause });
}

/** The input as it would be submitted. @throws TypeError if the handler does not consume it */
function inputOf(
  handler: Handler,
  input: unknown,
  given: string | undefined,
): { bytes: Uint8Array; mediaType: string } {
  const isBytes = input instanceof Uint8Array;
  const named = handler.consumes.find((range) => range !== JSON_TYPE && !range.includes("*"));
  const mediaType = isBytes ? (given ?? named ?? "application/octet-stream") : JSON_TYPE;
  if (!consumesType(handler, mediaType)) {
    const what = isBytes ? `bytes of type ${mediaType}` : "a JSON value";
    throw new TypeError(
      `the queue ${handler.queue} accepts ${handler.consumes.join(", ")}, not ${what}; see the option mediaType`,
    );
  }
  return { mediaType, bytes: isBytes ? input : Buffer.from(JSON.stringify(input) ?? "null") };
}

/** What a caller gets when a handler has returned this value. */
function received(returned: unknown, { status, contentType, headers, body }: Answer): unknown {
  // The client, too, leaves bytes with a type to its caller.
  if (returned instanceof Response || (returned instanceof Blob && returned.type !== "")) {
    const all = contentType === null ? headers : { ...headers, "content-type": contentType };
    return new Response(status === 204 || status === 304 ? null : Buffer.from(body), { status, headers: all });
  }
  if (typeof body !== "string") return body;
  return body === "" ? undefined : JSON.parse(body);
}

function failed(
  outcome: AttemptEnd | "canceled",
  attemptsLeft: number,
  parts: { readonly record: AttemptRecord; readonly cause: unknown },
): AttemptFailed {
  if (outcome === "canceled")
    return new AttemptFailed("the task was canceled", { ending: { state: outcome }, ...parts });
  // Neither a shutdown nor the loss of a lease or a process can happen here.
  if (typeof outcome !== "object" || !("failure" in outcome))
    throw new Error(`unexpected end of an attempt: ${outcome}`);
  const { kind, error, delayMs, result } = outcome.failure;
  if (kind === "later" || (kind === "retry" && attemptsLeft > 0)) {
    return new AttemptFailed(error, { ending: { state: "retrying", retryMs: delayMs }, ...parts });
  }
  const problem = JSON.parse(String(result.body)) as Problem;
  return new AttemptFailed(error, { ending: { state: "failed", problem }, ...parts });
}

/** How long a handler may continue after its signal has fired, ms, as in a worker. */
const GRACE_MS = 2000;

/** The signal of an attempt, and the causes that fire it. */
class AttemptSignal {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #caller: AbortSignal | undefined;
  readonly #cancel = () => this.#fire("canceled");
  cause: AbortCause | undefined;

  constructor(timeoutMs: number | undefined, caller: AbortSignal | undefined) {
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#fire("timeout"), timeoutMs);
    this.#caller = caller;
    caller?.addEventListener("abort", this.#cancel);
    if (caller?.aborted) this.#cancel();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the end, but only for a grace period after the signal has fired. */
  async within(end: HandlerEnd | Promise<HandlerEnd>): Promise<HandlerEnd> {
    let late: NodeJS.Timeout | undefined;
    const overdue = new Promise<HandlerEnd>((resolve) => {
      const wait = () => {
        late = setTimeout(() => resolve({ kind: "overdue" }), GRACE_MS);
      };
      if (this.signal.aborted) wait();
      else this.signal.addEventListener("abort", wait);
    });
    try {
      return await Promise.race([end, overdue]);
    } finally {
      clearTimeout(late);
      clearTimeout(this.#timer);
      this.#caller?.removeEventListener("abort", this.#cancel);
    }
  }

  #fire(cause: AbortCause): void {
    this.cause ??= cause;
    this.#controller.abort(new TaskAborted(cause));
  }
}
