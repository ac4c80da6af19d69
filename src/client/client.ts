import type { Queue, Queues } from "../wire/queue.ts";
import type { Output, Quote } from "../wire/task.ts";
import {
  type BatchOptions,
  type GroupOptions,
  type SubmittedGroup,
  submitAll,
  submitGroup,
  type Verdict,
} from "./batch.ts";
import { Connection, type Request } from "./connection.ts";
import { RESULT_BYTES } from "./figures.ts";
import { follow, pathTo, type Target, targetOf } from "./follow.ts";
import type { AnyHandlers, InputOf, QueueName, ResultOf } from "./handler-types.ts";
import { errorOf, type PaihaoError, type Problem } from "./problem.ts";
import type { Accepted, Status } from "./status.ts";
import { decode, requestOf, type SubmitOptions, submit } from "./submission.ts";
import { type Duration, Limit } from "./time.ts";
import { type Turn, type TurnOptions, takeTurn } from "./turn.ts";
import { whileWanted } from "./wanted.ts";

/** How a client reaches its server. */
export interface ClientOptions {
  /** Base URL; default `http://127.0.0.1:3000`, and in a page its own origin. */
  readonly url?: string | undefined;
  /** API key. */
  readonly key?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** How often a request is tried before the error `unreachable`; default 8, over about half a minute. */
  readonly attempts?: number | undefined;
}

/** Options of waiting. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** After this, the error is a `TimeoutError`. */
  readonly timeout?: Duration;
}

/** How a result is returned. */
export interface ResultOptions extends WaitOptions {
  /** `response`: as a Response, with its body unread. */
  readonly as?: "value" | "response";
}

/** How a task is run. */
export interface RunOptions<R = unknown> extends SubmitOptions, ResultOptions {
  /** Called with every change: place in line, progress, state. */
  readonly onUpdate?: (status: Status<R>) => void;
  /** Called with every value that the handler writes; when `run` rises, discard the earlier ones. */
  readonly onOutput?: (data: unknown, output: Output) => void;
  /** Whether abort and timeout leave the task running instead of canceling it. Default: whether there is an idempotency key. */
  readonly detach?: boolean;
}

/** A task: its id, a link to one of its resources, which may be signed, or what `submit` answered. */
export type TaskRef<Q extends string = string> = string | Pick<Accepted<Q>, "id" | "queue">;

/** A client of a Paihao server. `H` is `typeof handlers`: the module of the handlers, of which only the types are used. */
export class PaihaoClient<H = AnyHandlers> {
  readonly #connection: Connection;

  /** @throws TypeError for an invalid URL or API key */
  constructor(options: ClientOptions = {}) {
    const { location } = globalThis as { location?: { origin: string } };
    this.#connection = new Connection({ ...options, url: options.url ?? location?.origin ?? "http://127.0.0.1:3000" });
  }

  /**
   * Puts a task into a queue. Its id is chosen before it is sent, so that it runs once however often it is sent.
   * @throws PaihaoError; TypeError for options that cannot be sent
   */
  submit<Q extends QueueName<H>>(queue: Q, input: InputOf<H, Q>, options: SubmitOptions = {}): Promise<Accepted<Q>> {
    return submit(this.#connection, queue, input, options) as Promise<Accepted<Q>>;
  }

  /**
   * Submits a task, follows it and gets its result. Abort and timeout cancel it if it has not ended, unless it is detached, or
   * has an idempotency key, since others may then wait for it.
   * @throws TaskFailed, TaskCanceled, TaskExpired and other PaihaoErrors; the signal's reason; a TimeoutError
   */
  run<Q extends QueueName<H>>(
    queue: Q,
    input: InputOf<H, Q>,
    options: RunOptions<ResultOf<H, Q>> & { readonly as: "response" },
  ): Promise<Response>;
  run<Q extends QueueName<H>>(
    queue: Q,
    input: InputOf<H, Q>,
    options?: RunOptions<ResultOf<H, Q>>,
  ): Promise<ResultOf<H, Q>>;
  async run(queue: string, input: unknown, options: RunOptions<never> = {}): Promise<unknown> {
    const { idempotencyKey, detach = idempotencyKey !== undefined } = options;
    const limit = new Limit(options.signal, options.timeout);
    const { signal } = limit;
    return whileWanted(this.#connection, queue, input, { ...options, limit, detach }, ({ id }) =>
      this.#follow(this.#task(id), { ...options, signal }),
    );
  }

  /**
   * Takes a turn in a queue of turns: waits in line, calls `work` when it is its turn, keeps the turn while the work lasts, and ends it with
   * what it returns, as JSON. If it throws, the turn is given up. If the turn is lost, its signal fires; only the server can say
   * that, and while it is away the work goes on. The signal of the options leaves the line, or fires the signal of the turn, which is given up
   * when the work has settled: whatever happens, this settles after it.
   * @throws what the work throws; TaskCanceled, TaskFailed … if the turn was lost; other PaihaoErrors; the signal's reason
   */
  turn<Q extends QueueName<H>, T>(
    queue: Q,
    work: (turn: Turn) => T | Promise<T>,
    options: TurnOptions<InputOf<H, Q>> = {},
  ): Promise<T> {
    return takeTurn(this.#connection, queue, work, options);
  }

  /**
   * The states of a task from the current one to its end, one after each change.
   * @throws PaihaoError; the signal's reason
   */
  async *watch<Q extends QueueName<H>>(
    task: TaskRef<Q>,
    options: WaitOptions = {},
  ): AsyncGenerator<Status<ResultOf<H, Q>>, void> {
    for await (const { name, data } of follow(this.#task(task), options)) {
      if (name !== "output") yield data as Status<ResultOf<H, Q>>;
    }
  }

  /**
   * What the handler of a task writes, from the beginning to the end; `run` of the entries rises when the task starts again.
   * @throws PaihaoError; the signal's reason
   */
  async *outputs(task: TaskRef, options: WaitOptions = {}): AsyncGenerator<Output, void> {
    const target = this.#task(task);
    let none = true;
    for await (const { name, data } of follow(target, { ...options, output: true })) {
      if (name !== "output") continue;
      none = false;
      yield data;
    }
    // A canceled or expired task has no output, which is an error.
    if (none) await target.connection.send(pathTo(target, "/output"), options, (response) => response.text());
  }

  /** Only the values of {@link outputs}. */
  async *output(task: TaskRef, options: WaitOptions = {}): AsyncGenerator<unknown, void> {
    for await (const { data } of this.outputs(task, options)) yield data;
  }

  /**
   * The result of a task, as soon as there is one.
   * @throws TaskFailed, TaskCanceled, TaskExpired, TaskUnknown and other PaihaoErrors; the signal's reason; a TimeoutError
   */
  result<Q extends QueueName<H>>(
    task: TaskRef<Q>,
    options: ResultOptions & { readonly as: "response" },
  ): Promise<Response>;
  result<Q extends QueueName<H>>(task: TaskRef<Q>, options?: ResultOptions): Promise<ResultOf<H, Q>>;
  async result(task: TaskRef, options: ResultOptions = {}): Promise<unknown> {
    const target = this.#task(task);
    const limit = new Limit(options.signal, options.timeout);
    try {
      return await this.#collect(target, { ...options, signal: limit.signal });
    } finally {
      limit.release();
    }
  }

  /** The state of a task. @throws TaskUnknown, TaskExpired and other PaihaoErrors */
  async status<Q extends QueueName<H>>(
    task: TaskRef<Q>,
    options: Pick<WaitOptions, "signal"> = {},
  ): Promise<Status<ResultOf<H, Q>>> {
    const target = this.#task(task);
    return target.connection.json(pathTo(target, "/status"), options);
  }

  /**
   * Cancels a task, or deletes its result if it has ended. Returns its state: a running task has `cancelRequested`, and is
   * canceled once its handler has stopped. Undefined if it had ended.
   * @throws TaskUnknown and other PaihaoErrors
   */
  async cancel(task: TaskRef, options: Pick<Request, "signal" | "headers"> = {}): Promise<Status | undefined> {
    // Without the signature of a link, which only allows reading.
    const { connection, path } = this.#task(typeof task === "string" ? task.replace(/\?.*/, "") : task);
    return connection.send(path, { ...options, method: "DELETE" }, (response) =>
      response.status === 204 ? undefined : (response.json() as Promise<Status>),
    );
  }

  /** What place a submission would get; nothing is submitted. @throws PaihaoError */
  async quote<Q extends QueueName<H>>(queue: Q, input: InputOf<H, Q>, options: SubmitOptions = {}): Promise<Quote> {
    return this.#connection.json(...requestOf(queue, input, options, "/requests", { dryRun: "true" }));
  }

  /** All queues with their figures. @throws PaihaoError */
  async queues(options: Pick<WaitOptions, "signal"> = {}): Promise<readonly Queue[]> {
    return (await this.#connection.json<Queues>("/v1/queues", options)).items;
  }

  /**
   * Submits many inputs as they come; yields a verdict for each, in order. When the reader stops, so does submitting.
   * @throws PaihaoError, if the queue takes none of them; the signal's reason
   */
  batch<Q extends QueueName<H>>(
    queue: Q,
    inputs: Iterable<InputOf<H, Q>> | AsyncIterable<InputOf<H, Q>>,
    options: BatchOptions = {},
  ): AsyncGenerator<Verdict, void> {
    return submitAll(this.#connection, queue, inputs, options);
  }

  /**
   * Submits many inputs as one group of tasks, and closes it.
   * @throws PaihaoError, if the queue takes none of them; the signal's reason
   */
  group<Q extends QueueName<H>>(
    queue: Q,
    inputs: Iterable<InputOf<H, Q>> | AsyncIterable<InputOf<H, Q>>,
    options: GroupOptions = {},
  ): Promise<SubmittedGroup> {
    return submitGroup(this.#connection, queue, inputs, options);
  }

  /**
   * Any other request to the server: adds the API key, tries again if that is safe, and turns problems into errors.
   * @param path with its query
   * @throws PaihaoError
   */
  request(path: string, request: Request = {}): Promise<Response> {
    const once = /^p(ost|atch)$/i.test(`${request.method}`);
    return this.#connection.send(path, { maxBytes: Infinity, once, ...request }, (response) => response);
  }

  #task(task: TaskRef): Target {
    return targetOf(this.#connection, typeof task === "string" ? task : task.id);
  }

  /** The result of a task, which is followed while it is pending. @throws PaihaoError; the signal's reason */
  async #collect(task: Target, options: RunOptions<never>): Promise<unknown> {
    const { connection, path, query } = task;
    const { signal, as } = options;
    try {
      const request = { maxBytes: RESULT_BYTES, signal, redirect: "manual" } as const;
      return await connection.send(path + query, request, async (response) => {
        // In a page, only the status tells that a redirect is the result.
        const state = response.status
          ? response.headers.get("X-Task-State")
          : (await connection.json<Status>(pathTo(task, "/status"), { signal })).state;
        // The page of a portal or proxy counts as no answer.
        if (!state) throw Error("not from Paihao");
        if (state !== "succeeded") throw errorOf((await response.json()) as Problem);
        return as === "response" ? response : await decode(response);
      });
    } catch (error) {
      if ((error as Partial<PaihaoError> | null)?.code !== "pending") throw error;
    }
    return this.#follow(task, options);
  }

  /** Follows a task to its end; returns its result. @throws PaihaoError; the signal's reason */
  async #follow(task: Target, options: RunOptions<never>): Promise<unknown> {
    const { onUpdate, onOutput, signal } = options;
    let last: { readonly problem?: Problem; readonly result?: unknown } = {};
    for await (const { name, data } of follow(task, { signal, output: !!onOutput })) {
      if (name === "output") onOutput?.(data.data, data);
      else {
        last = data as typeof last;
        onUpdate?.(data as Status<never>);
      }
    }
    if (last.problem) throw errorOf(last.problem);
    if (options.as !== "response" && "result" in last) return last.result;
    // It may have been retried in the meantime.
    return this.#collect(task, options);
  }
}
