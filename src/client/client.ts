import { type BatchOptions, submitAll } from "./batch.ts";
import { Connection, isPending, RESULT_BYTES, type Request } from "./connection.ts";
import { follow, pathTo, type Target } from "./follow.ts";
import type { AnyHandlers, InputOf, QueueName, ResultOf } from "./handler-types.ts";
import { linkedTask, named } from "./link.ts";
import { decode } from "./media.ts";
import { type Problem, taskError } from "./problem.ts";
import type { Accepted, Output, Queue, Quote, Status, Verdict } from "./status.ts";
import { newId, requestOf, type SubmitOptions, submit } from "./submission.ts";
import { type Duration, Limit, rejection } from "./time.ts";

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

/** How something is waited for. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** After this, the error is a `TimeoutError`. */
  readonly timeout?: Duration;
}

/** How a result is got. */
export interface ResultOptions extends WaitOptions {
  /** `response`: with its status and headers, and its body unread. */
  readonly as?: "value" | "response";
}

/** How a task is run. */
export interface RunOptions<R = unknown> extends SubmitOptions, ResultOptions {
  /** Called with every change: place in line, progress, state. */
  readonly onUpdate?: (status: Status<R>) => void;
  /** Called with everything that the handler writes; when `run` rises, what came before no longer counts. */
  readonly onOutput?: (data: unknown, output: Output) => void;
  /** Abort and timeout leave the task alone; otherwise they cancel it. */
  readonly detach?: boolean;
}

/** A task: its id, a link to one of its resources, which may be signed, or what `submit` answered. */
export type TaskRef<Q extends string = string> = string | Pick<Accepted<Q>, "id" | "queue">;

/** How long an aborted run waits for the answer of its submission, and of its cancel, ms. */
const FAREWELL_MS = 3000;

/** A client of a Paihao server. `H` is `typeof handlers`: the module of the handlers, of which only the types are used. */
export class PaihaoClient<H = AnyHandlers> {
  readonly #connection: Connection;

  constructor({ url = defaultUrl(), key, fetch: own, attempts }: ClientOptions = {}) {
    // Called as a function: a browser's own refuses to be called as a method.
    const send: typeof fetch = (input, init) => (own ?? fetch)(input, init);
    this.#connection = new Connection({ url, key, fetch: send, attempts });
  }

  /**
   * Puts a task into a queue. It has an id before it is sent, so that it runs once, however often it has to be sent.
   * @throws PaihaoError
   */
  submit<Q extends QueueName<H>>(queue: Q, input: InputOf<H, Q>, options: SubmitOptions = {}): Promise<Accepted<Q>> {
    return submit(this.#connection, queue, input, options) as Promise<Accepted<Q>>;
  }

  /**
   * Submits a task, follows it and gets its result. Abort and timeout cancel it, unless it is detached.
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
    const limit = new Limit(options.signal, options.timeout);
    const { signal } = limit;
    const sending = new AbortController();
    const id = options.idempotencyKey === undefined ? (options.id ?? newId()) : undefined;
    try {
      signal.throwIfAborted();
      const submitting = submit(this.#connection, queue, input, { ...options, signal: sending.signal }, id);
      try {
        const accepted = await Promise.race([submitting, rejection(signal)]);
        return await this.#follow(this.#task(accepted), { ...options, signal });
      } catch (error) {
        if (signal.aborted && options.detach !== true) {
          await this.#abandon(submitting, id);
          sending.abort();
        }
        throw error;
      }
    } finally {
      limit.release();
    }
  }

  /**
   * The states of a task, from the present one to its end; each time something has changed.
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
   * What the handler of a task writes, from the beginning to its end; `run` of the entries rises when the task starts again.
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
    // Of a task that is canceled or expired there is none: that is an error.
    if (none) await target.connection.send(pathTo(target, "/output"), options, () => undefined);
  }

  /** The values of {@link outputs} alone. */
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
    const limit = new Limit(options.signal, options.timeout);
    const target = this.#task(task);
    const waiting = { ...options, signal: limit.signal };
    try {
      const found = await this.#collect(target, waiting);
      return found ? found.value : await this.#follow(target, waiting);
    } finally {
      limit.release();
    }
  }

  /** The state of a task. @throws TaskUnknown, TaskExpired and other PaihaoErrors */
  async status<Q extends QueueName<H>>(
    task: TaskRef<Q>,
    { signal }: Pick<WaitOptions, "signal"> = {},
  ): Promise<Status<ResultOf<H, Q>>> {
    const target = this.#task(task);
    return target.connection.json(pathTo(target, "/status"), { signal });
  }

  /**
   * Cancels a task; the result of one that has ended is destroyed. Returns its state: one that was running has
   * `cancelRequested`, and is canceled when its handler has stopped. Undefined if it had ended.
   * @throws TaskUnknown and other PaihaoErrors
   */
  async cancel(task: TaskRef, { signal }: Pick<WaitOptions, "signal"> = {}): Promise<Status | undefined> {
    // Not with the signature of a link, which is for reading.
    const { connection, path } = this.#task(typeof task === "string" ? task.replace(/\?.*/, "") : task);
    return connection.send(path, { method: "DELETE", signal }, (response) =>
      response.status === 204 ? undefined : (response.json() as Promise<Status>),
    );
  }

  /** Where a submission would stand; nothing is submitted. @throws PaihaoError */
  async quote<Q extends QueueName<H>>(queue: Q, input: InputOf<H, Q>, options: SubmitOptions = {}): Promise<Quote> {
    const { path, search, request } = requestOf(queue, input, options, { dryRun: "true" });
    return this.#connection.json(path + search, request);
  }

  /** All queues with their figures. @throws PaihaoError */
  async queues({ signal }: Pick<WaitOptions, "signal"> = {}): Promise<readonly Queue[]> {
    return (await this.#connection.json<{ items: readonly Queue[] }>("/v1/queues", { signal })).items;
  }

  /**
   * Submits many inputs as they come; yields a verdict for each, in order. Whoever stops reading stops submitting.
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
   * Any other request to the server: adds the key, tries again what is safe to send again, and turns problems into errors.
   * @param path with its query
   * @throws PaihaoError
   */
  request(path: string, request: Request = {}): Promise<Response> {
    const once = request.method === "POST";
    return this.#connection.send(path, { maxBytes: Infinity, once, ...request }, (response) => response);
  }

  #task(task: TaskRef): Target {
    const connection = this.#connection;
    const text = typeof task === "string" ? task : task.id;
    return linkedTask(connection, text) ?? { connection, path: `/v1/requests/${named(text)}`, query: "" };
  }

  /** The result of a task that has one; undefined of one that is pending. @throws PaihaoError */
  async #collect(
    { connection, path, query }: Target,
    { signal, as }: ResultOptions,
  ): Promise<{ value: unknown } | undefined> {
    try {
      const read = await connection.send(path + query, { signal, maxBytes: RESULT_BYTES }, async (response) => {
        const state = response.headers.get("X-Task-State");
        if (state === "failed") return { problem: (await response.json()) as Problem };
        if (state !== null && state !== "succeeded") return undefined;
        return { value: as === "response" ? response : await decode(response) };
      });
      if (read?.problem) throw taskError(read.problem);
      return read;
    } catch (error) {
      if (isPending(error)) return undefined;
      throw error;
    }
  }

  /** Follows a task to its end; returns its result. @throws PaihaoError; the signal's reason */
  async #follow(task: Target, options: RunOptions<never>): Promise<unknown> {
    const { onUpdate, onOutput, signal } = options;
    let last: Status<never> | undefined;
    for await (const { name, data } of follow(task, { signal, output: onOutput !== undefined })) {
      if (name === "output") onOutput?.(data.data, data);
      else {
        last = data as Status<never>;
        onUpdate?.(last);
      }
    }
    if (last?.state !== "succeeded" && last && "problem" in last && last.problem) throw taskError(last.problem);
    if (options.as !== "response" && last && "result" in last) return last.result;
    // It was run again meanwhile, if it is pending.
    const found = await this.#collect(task, options);
    return found ? found.value : this.#follow(task, options);
  }

  /** Cancels a task whose submission may still be under way. */
  async #abandon(submitting: Promise<Accepted>, id: string | undefined): Promise<void> {
    const limit = new Limit(undefined, FAREWELL_MS);
    const accepted = await Promise.race([submitting, rejection(limit.signal)]).catch(() => undefined);
    limit.within(FAREWELL_MS);
    const task = accepted?.id ?? id;
    // It may have ended, or never been accepted.
    if (task !== undefined) await this.cancel(task, { signal: limit.signal }).catch(() => undefined);
    limit.release();
  }
}

function defaultUrl(): string {
  const { location } = globalThis as { location?: { origin: string } };
  return location?.origin ?? "http://127.0.0.1:3000";
}
