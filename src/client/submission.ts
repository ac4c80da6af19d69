import type { Body, Connection, Request } from "./connection.ts";
import { named, valid } from "./problem.ts";
import type { Accepted } from "./status.ts";
import { type Duration, msOf } from "./time.ts";

/** How a task is submitted. */
export interface SubmitOptions {
  /** Its id; by default a new one. The same id with another input is refused. */
  readonly id?: string;
  /** Instead of an id: the same key with the same input is the same task, whoever sends the request. */
  readonly idempotencyKey?: string;
  /** 0 (most urgent) to 7; default 3. */
  readonly priority?: number;
  /** The task starts only after this delay, or at this time. */
  readonly delay?: Duration | Date;
  /** The task is canceled if it has not ended this long after its submission. */
  readonly deadline?: Duration;
  /** The task is canceled when nobody has looked at it for this long, 5 s to 1 h; following it keeps it. */
  readonly presence?: Duration;
  /** What people call it: at most 64 characters. */
  readonly label?: string;
  /** The task is refused (`line-too-long`) if more tasks than this would start before it. */
  readonly maxIndex?: number;
  /** URL to notify when the task has ended. */
  readonly webhook?: string;
  /** Parameters for the handler, its `task.query`. */
  readonly query?: Readonly<Record<string, string>>;
  /** Media type of the input, if it is not JSON. */
  readonly type?: string;
  /** Stops waiting for the answer; the task may have been submitted all the same. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Submits a task, under the same id however often it is sent.
 * @param fresh the id of a task that is given neither an id nor a key
 * @throws PaihaoError; the signal's reason
 */
export async function submit(
  connection: Connection,
  queue: string,
  input: unknown,
  options: SubmitOptions,
  fresh = newId(),
): Promise<Accepted> {
  const { id, idempotencyKey: key } = options;
  const isFresh = id === undefined && key === undefined;
  // In the path, since proxies replace X-Request-Id.
  const [path, request] = requestOf(queue, input, options, isFresh ? `/requests/${fresh}` : "/requests");
  const headers: Record<string, string> = { ...request.headers, Prefer: "respond-async" };
  if (key !== undefined) headers["Idempotency-Key"] = valid("idempotencyKey", key, /^[!-~]+$/);
  else if (id !== undefined) headers["X-Request-Id"] = named("id", id);
  // Not for an id that the caller chose: a PUT would replace the input of an existing task.
  const method = isFresh ? "PUT" : "POST";
  const own = key === undefined ? (id ?? fresh) : undefined;
  return connection.send(path, { ...request, method, headers }, (response) => acceptedOf(response, queue, own));
}

/**
 * The request of a submission, without what identifies it.
 * @param end of the path, after that of the queue
 * @param more parameters
 */
export function requestOf(
  queue: string,
  input: unknown,
  options: SubmitOptions,
  end: string,
  more?: Readonly<Record<string, string>>,
): [path: string, request: Request] {
  const { body, type } = encode(input, options.type);
  const headers = { ...headersOf(options), "Content-Type": type };
  return [
    `/v1/queues/${named("queue", queue)}${end}${searchOf(options, more)}`,
    { method: "POST", headers, body, signal: options.signal },
  ];
}

/** A unique id, of 96 random bits. `crypto.randomUUID` exists only on secure origins. */
export function newId(): string {
  return crypto.getRandomValues(new Uint32Array(3)).join("");
}

/** Headers of the options. */
export function headersOf({ priority }: SubmitOptions): Record<string, string> {
  return priority === undefined ? {} : { Priority: `u=${valid("priority", `${priority}`, /^[0-7]$/)}` };
}

/** The query of the options; "" without any. */
export function searchOf(options: SubmitOptions, more?: Readonly<Record<string, string>>): string {
  const { delay, query } = options;
  const search = new URLSearchParams({ ...query, ...more });
  const set = (name: string, value: unknown) => value !== undefined && search.set(name, `${value}`);
  const setTime = (name: string, time: Duration | undefined) => time !== undefined && set(name, msOf(time) / 1000);
  if (delay instanceof Date) set("notBefore", delay.toISOString());
  else setTime("delay", delay);
  for (const name of ["deadline", "presence"] as const) setTime(name, options[name]);
  for (const name of ["label", "maxIndex", "webhook"] as const) set(name, options[name]);
  return `${search}` && `?${search}`;
}

async function acceptedOf(response: Response, queue: string, own: string | undefined): Promise<Accepted> {
  const { headers } = response;
  const replayed = headers.has("Idempotent-Replayed");
  const state = headers.get("X-Task-State");
  if (response.status === 202 && state !== "succeeded") {
    return { ...((await response.json()) as Accepted), replayed };
  }
  // It was submitted before and has ended: the answer is its result, or the problem that says why it has none.
  const ended = state ?? ((await response.json()) as Pick<Accepted, "state">).state;
  const id = own ?? headers.get("X-Request-Id") ?? "";
  return {
    id,
    queue,
    state: ended as Accepted["state"],
    index: null,
    eta: null,
    links: [],
    href: `/v1/requests/${id}`,
    replayed,
  };
}

/** A body with its media type. */
interface Encoded {
  readonly body: Body;
  readonly type: string;
}

const JSON_TYPE = /^application\/([^;]+\+)?json\s*(;|$)/i;

/**
 * An input as a body: bytes as they are, anything else as JSON, and a string as text if its type says so.
 * @param type media type; by default that of a Blob, `application/octet-stream` or `application/json`
 */
function encode(input: unknown, type?: string): Encoded {
  if (input instanceof Blob || input instanceof ArrayBuffer || ArrayBuffer.isView(input)) {
    return { body: input as Body, type: type || (input as Partial<Blob>).type || "application/octet-stream" };
  }
  if (typeof input === "string" && type !== undefined && !JSON_TYPE.test(type)) return { body: input, type };
  return { body: JSON.stringify(input ?? null), type: type ?? "application/json" };
}

/** A result: JSON as its value, bytes as bytes, nothing as undefined, and anything else, such as a redirect, as a Response. */
export async function decode(response: Response): Promise<unknown> {
  const type = response.headers.get("Content-Type");
  // Only a response with a body has a type.
  if (!type) return response.ok ? undefined : response;
  if (type.startsWith("application/octet-stream")) return new Uint8Array(await response.arrayBuffer());
  if (!JSON_TYPE.test(type)) return response;
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    // The body of a handler's Response need not match its media type.
    return new Response(text, response);
  }
}
