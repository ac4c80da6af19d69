import { ANSWER_MS, ATTEMPTS, DOCUMENT_BYTES, LONGEST_PAUSE_MS, LONGEST_RETRY_AFTER_S, PAUSE_MS } from "./figures.ts";
import { errorOf, ownProblem, PaihaoError, type Problem, valid } from "./problem.ts";
import { Limit, sleep } from "./time.ts";

/** What fetch sends. */
export type Body = NonNullable<RequestInit["body"]>;

/** A request. */
export interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  readonly signal?: AbortSignal | undefined;
  /** Do not try it again, unless the server answers that it came too often. */
  readonly once?: boolean;
  /** How much longer than usual the answer may take, ms. */
  readonly waitMs?: number;
  /** The longest answer, bytes. */
  readonly maxBytes?: number;
  /** `manual`: a redirect is the answer. Default: one is followed, unless the request has a body. */
  readonly redirect?: "manual";
}

/** How a server is reached. */
export interface ConnectionOptions {
  readonly url: string;
  readonly key?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly attempts?: number | undefined;
}

/** Requests to a server, tried again if that may help. */
export class Connection {
  readonly url: string;
  readonly #options: ConnectionOptions;

  /** @throws TypeError for an invalid URL or API key */
  constructor(options: ConnectionOptions) {
    const key = options.key?.trim();
    // In a page, a path. The messages must not contain a password or the API key, since they may be logged.
    this.url = valid("url", options.url, /^(https?:\/)?\/[^@]*$/i).replace(/\/$/, "");
    if (key && /[^!-~]/.test(key)) throw new TypeError("key is not valid");
    this.#options = { ...options, key };
  }

  /** The same connection without the API key, perhaps to another server. */
  without(url: string): Connection {
    return new Connection({ ...this.#options, url, key: undefined });
  }

  /**
   * Sends a request that may be sent again, and reads the answer. An incomplete answer counts as none.
   * @param read may extend the time limit
   * @throws PaihaoError; the signal's reason; TypeError for what cannot be sent
   */
  async send<T>(
    path: string,
    request: Request,
    read: (response: Response, limit: Limit) => Promise<T> | T,
  ): Promise<T> {
    const { method, headers, signal, once, waitMs = 0 } = request;
    // fetch throws the same error for what cannot be sent as for a missing answer.
    new Request(this.url + path, { method, headers } as RequestInit);
    for (let attempt = 1; ; attempt++) {
      const limit = new Limit(signal, ANSWER_MS + waitMs);
      try {
        return await read(await this.open(path, request, limit), limit);
      } catch (thrown) {
        await this.pause(thrown, attempt, signal, once);
      } finally {
        limit.release();
      }
    }
  }

  /** The same for a JSON answer. */
  json<T>(path: string, request: Request): Promise<T> {
    return this.send(path, request, (response) => response.json() as Promise<T>);
  }

  /**
   * Waits before the next attempt.
   * @param thrown why there is no answer
   * @param once see {@link Request}
   * @throws PaihaoError, if another attempt would not help; the signal's reason
   */
  async pause(thrown: unknown, attempt: number, signal: AbortSignal | undefined, once?: boolean): Promise<void> {
    signal?.throwIfAborted();
    const error =
      thrown instanceof PaihaoError
        ? thrown
        : errorOf(
            ownProblem("The server cannot be reached", 0, `no usable answer from ${this.url}`),
            { cause: thrown },
            "unreachable",
          );
    const { kind, code, problem, retryAfter } = error;
    // The caller must learn that it has too many tasks, of a full queue, or a line that is too long. The problem of a task, which has a state, is final.
    const helps =
      !problem.state &&
      (kind === "unreachable" || (problem.status === 429 && code !== "too-many-tasks") || code === "not-durable");
    if (
      !helps ||
      (once && problem.status !== 429) ||
      attempt >= (this.#options.attempts ?? ATTEMPTS) ||
      (retryAfter ?? 0) > LONGEST_RETRY_AFTER_S
    )
      throw error;
    await sleep(pauseMs(attempt, retryAfter), signal);
  }

  /**
   * Sends the request once and returns the answer when its head has arrived. The caller releases the time limit, which covers
   * the body too.
   * @throws PaihaoError for a problem; what fetch throws
   */
  async open(
    path: string,
    { method = "GET", headers = {}, body, maxBytes = DOCUMENT_BYTES, redirect }: Request,
    limit: Limit,
  ): Promise<Response> {
    const { key, fetch: own } = this.#options;
    const init = {
      method,
      headers: { ...(key && { Authorization: `Bearer ${key}` }), ...headers },
      body,
      signal: limit.signal,
      // The client makes its own conditional requests, and a cached status would be outdated.
      cache: "no-store",
      // A request with a body must not follow redirects to another server. One without may: fetch sends the key only to the
      // first.
      redirect: body ? "manual" : redirect,
    } as RequestInit;
    let response = await (own ?? fetch)(this.url + path, init);
    let left = maxBytes;
    const transform = (part: Uint8Array, to: TransformStreamDefaultController<Uint8Array>) => {
      // An event stream has no maximum length, but each of its lines has.
      left = headers.Accept && part.includes(10) ? maxBytes : left - part.length;
      if (left < 0) throw errorOf(ownProblem("The answer is too long", 0));
      to.enqueue(part);
    };
    // In Chromium these have a body too, with which none can be made.
    if (response.body && ![204, 205, 304].includes(response.status))
      response = new Response(response.body.pipeThrough(new TransformStream({ transform })), response);
    if (
      response.ok ||
      // In a page, a redirect that is not followed has the status 0, and no headers.
      [0, 304].includes(response.status) ||
      // The answers about ended and pending tasks have statuses of their own.
      response.headers.has("X-Task-State") ||
      response.headers.has("Idempotent-Replayed")
    )
      return response;
    throw await refusal(response);
  }
}

/** The error of an unsuccessful answer. */
async function refusal(response: Response): Promise<PaihaoError> {
  const { status } = response;
  const read = (await response.json().catch(() => undefined)) as Partial<Problem> | undefined;
  const problem =
    typeof read?.type === "string" && typeof read.title === "string"
      ? (read as Problem)
      : ownProblem(`HTTP ${status}`, status, "not from Paihao");
  return errorOf({ ...problem, status }, { retryAfter: retryAfterOf(response.headers.get("Retry-After")) });
}

/** The pause before the next attempt, ms: at least what the server asks for, varied so that callers do not return together. */
export function pauseMs(attempt: number, retryAfterS?: number): number {
  if (retryAfterS !== undefined) return retryAfterS * 1000 * (1 + Math.random() / 4);
  return Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}

/** Seconds of a Retry-After (RFC 9110 §10.2.3): a number, or a date. */
export function retryAfterOf(value: string | null): number | undefined {
  const text = `${value}`;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return seconds >= 0 ? seconds : undefined;
}
