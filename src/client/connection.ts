import { errorOf, PaihaoError, type Problem, unreachable } from "./problem.ts";
import { Limit, sleep } from "./time.ts";

// Constants rather than one object, here and in other files of the client: minifiers put their values in place.

/** How often a request is tried. */
const ATTEMPTS = 8;
/** The pause before attempt n + 1 is this·2^(n−1), at most the longest, half of it random. */
const PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A longer Retry-After is not waited for: the caller gets the error. */
const LONGEST_RETRY_AFTER_S = 60;
/** For an answer to begin, and to arrive. */
const ANSWER_MS = 35_000;

/** The longest document, problem or line of events. */
const DOCUMENT_BYTES = 30_000_000;
/** The longest result: somewhat more than MAX_RESULT may be. */
export const RESULT_BYTES = 600_000_000;

/** What fetch sends. */
export type Body = NonNullable<RequestInit["body"]>;

/** A request. */
export interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  readonly signal?: AbortSignal | undefined;
  /** It is not tried again, unless the server says that it came too often. */
  readonly once?: boolean;
  /** How long the answer may take beyond the usual, ms. */
  readonly waitMs?: number;
  /** The longest answer, bytes. */
  readonly maxBytes?: number;
}

/** How a server is reached. */
export interface ConnectionOptions {
  readonly url: string;
  readonly key: string | undefined;
  readonly fetch: typeof fetch;
  readonly attempts: number | undefined;
}

/** Requests to a server, tried again where that helps. */
export class Connection {
  readonly url: string;
  readonly #key: string | undefined;
  readonly #fetch: typeof fetch;
  readonly #attempts: number;

  constructor({ url, key, fetch, attempts = ATTEMPTS }: ConnectionOptions) {
    this.url = url.replace(/\/$/, "");
    this.#key = key;
    this.#fetch = fetch;
    this.#attempts = attempts;
  }

  /** The same without the key, of another server perhaps. */
  without(url: string): Connection {
    return new Connection({ url, key: undefined, fetch: this.#fetch, attempts: this.#attempts });
  }

  /**
   * Sends a request that may be sent again, and reads the answer. An answer that breaks off counts as none.
   * @throws PaihaoError; the signal's reason
   */
  async send<T>(path: string, request: Request, read: (response: Response) => Promise<T> | T): Promise<T> {
    const { signal, once = false, waitMs = 0 } = request;
    for (let attempt = 1; ; attempt += 1) {
      const limit = new Limit(signal, ANSWER_MS + waitMs);
      try {
        return await read(await this.open(path, request, limit));
      } catch (thrown) {
        signal?.throwIfAborted();
        const error = thrown instanceof PaihaoError ? thrown : unreachable("the answer broke off", thrown);
        if (once && error.problem.status !== 429) throw error;
        await this.pause(error, attempt, signal);
      } finally {
        limit.release();
      }
    }
  }

  /** The same with an answer of JSON. */
  json<T>(path: string, request: Request): Promise<T> {
    return this.send(path, request, (response) => response.json() as Promise<T>);
  }

  /** Waits before the next attempt. @throws the error, if another attempt is of no use; the signal's reason */
  async pause(error: unknown, attempt: number, signal: AbortSignal | undefined): Promise<void> {
    if (!(error instanceof PaihaoError)) throw error;
    const { kind, code, problem, retryAfter } = error;
    // Of a full queue, or one that is too long, the caller must know.
    const helps = kind === "unreachable" || problem.status === 429 || code === "not-durable";
    if (!helps || attempt >= this.#attempts || (retryAfter ?? 0) > LONGEST_RETRY_AFTER_S) throw error;
    await sleep(pauseMs(attempt, retryAfter), signal);
  }

  /**
   * The answer, once its head is there; tried once. The caller releases the limit, which then is over the body.
   * @throws PaihaoError; the limit's reason
   */
  async open(
    path: string,
    { method = "GET", headers = {}, body, maxBytes = DOCUMENT_BYTES }: Request,
    limit: Limit,
  ): Promise<Response> {
    const init = {
      method,
      headers: { ...(this.#key !== undefined && { Authorization: `Bearer ${this.#key}` }), ...headers },
      ...(body !== undefined && { body }),
      signal: limit.signal,
      // Conditional requests are the client's own; and a status that a cache keeps is none.
      cache: "no-store",
      // What is submitted goes to no other server. Without a body it may: fetch sends the key to the first one only.
      redirect: body ? "manual" : "follow",
    } as RequestInit;
    const url = this.url + path;
    let response: Response;
    try {
      response = await this.#fetch(url, init);
    } catch (error) {
      throw unreachable(`no answer from ${this.url}`, error);
    }
    let left = maxBytes;
    const transform = (part: Uint8Array, to: TransformStreamDefaultController<Uint8Array>) => {
      // Events go on for ever, but each of their lines ends.
      left = headers.Accept && part.includes(10) ? maxBytes : left - part.length;
      if (left < 0) throw errorOf({ type: "about:blank", title: "The answer is too long", status: 0 });
      to.enqueue(part);
    };
    if (response.body) response = new Response(response.body.pipeThrough(new TransformStream({ transform })), response);
    // The end of a task, or a task that is pending, has the status of its own answer.
    if (response.ok || response.status === 304 || isAboutTask(response)) return response;
    throw await refusal(response);
  }
}

/** Whether an answer is about a task that exists, whatever its HTTP status. */
function isAboutTask({ headers }: Response): boolean {
  return headers.has("X-Task-State") || headers.has("Idempotent-Replayed");
}

/** Whether the error says that the task has not ended: its header says so too, but a proxy may have removed that. */
export function isPending(error: unknown): boolean {
  return error instanceof PaihaoError && error.code === "pending";
}

/** The error of an answer that is no success. */
async function refusal(response: Response): Promise<PaihaoError> {
  const { status } = response;
  const retryAfter = retryAfterOf(response.headers.get("Retry-After"));
  const problem = (await response.json().catch(() => undefined)) as Partial<Problem> | undefined;
  if (typeof problem?.type === "string" && typeof problem.title === "string") {
    return errorOf({ ...(problem as Problem), status }, retryAfter);
  }
  const own = { type: "about:blank", title: `HTTP ${status}`, status, detail: "not from Paihao" };
  if (status < 500) return errorOf(own, retryAfter);
  return new PaihaoError("unreachable", own, { retryAfter });
}

/** The pause before the next attempt, ms. What the server says is the least; callers that were told the same come apart. */
export function pauseMs(attempt: number, retryAfterS: number | undefined, chance = Math.random()): number {
  if (retryAfterS !== undefined) return retryAfterS * 1000 * (1 + chance / 4);
  return Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** (attempt - 1)) * (0.5 + chance / 2);
}

/** Seconds of a Retry-After (RFC 9110 §10.2.3): a number, or a date. */
export function retryAfterOf(value: string | null, nowMs = Date.now()): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - nowMs) / 1000;
  return seconds >= 0 ? seconds : undefined;
}
