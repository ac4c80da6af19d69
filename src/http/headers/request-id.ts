import { createHmac, randomUUID } from "node:crypto";
import type { Context } from "koa";
import { stringify } from "uuid";
import { ProblemError } from "../../errors.ts";
import type { Keys } from "../../store/keys.ts";
import { mayBeChosen } from "../../task.ts";
import { wrongParameter } from "../../wire/request.ts";
import { DEFAULT_QUEUE, type Route, routeOf } from "../route.ts";

/** Visible ASCII, with the length limit of the header's drafts. */
const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** The current secret of the deployment. */
export interface IdSecret {
  readonly value: string;
}

/** The parts of a request that determine its id. */
export interface IdSource {
  readonly state: { readonly route?: Route };
  readonly params?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * The correlation id of a request, which is the id of the task if it submits one. With an Idempotency-Key it is derived from
 * caller, queue and key, so that the same key leads to the same task without a look-up, and from the deployment's secret, so
 * that others cannot compute it and take it first. A PUT and an allocated task have it in their path. Otherwise it is a valid
 * X-Request-Id, or a new id; a new one wherever two requests must never be taken for one. An invalid header is never used, since the id goes into logs and headers. Whatever is not the caller's own
 * choice leads to the partition of the queue.
 */
export function requestIdOf(request: IdSource, caller: string | null, secret: IdSecret, keys: Keys): string {
  const { params: { queue, id } = {}, headers } = request;
  const submits = routeOf(request)?.submits;
  if (submits === "under the path's id" && id !== undefined && mayBeChosen(id)) return id;
  const { "idempotency-key": key, "x-request-id": sent } = headers;
  const bare = key === undefined ? undefined : bareKey(String(key));
  if (bare !== undefined && submits === "under the caller's key") {
    return keyedId(bare, { caller, queue: queue ?? DEFAULT_QUEUE, secret, keys });
  }
  const isNew = submits === "under a new id";
  if (!isNew && sent !== undefined && mayBeChosen(String(sent))) return String(sent);
  if (submits === undefined) return randomUUID();
  // A task that is submitted again names its partition itself, by its id.
  const isAgain = queue === undefined && id !== undefined;
  const partition = isAgain ? keys.partitionOf(id) : keys.partitionOfQueue(queue ?? DEFAULT_QUEUE);
  return keys.idIn(partition, () => randomUUID());
}

/** The id of the task that a caller submits to a queue under an idempotency key. */
export function keyedId(
  key: string,
  {
    caller,
    queue,
    secret,
    keys,
  }: { readonly caller: string | null; readonly queue: string; readonly secret: IdSecret; readonly keys: Keys },
): string {
  const text = JSON.stringify([caller, queue, key]);
  return keys.idIn(keys.partitionOfQueue(queue), (n) => derivedId(text, secret.value, n));
}

/** The nth id that only the deployment can derive from a text: a UUID of version 8 (RFC 9562 §5.8). */
export function derivedId(text: string, secret: string, nth: number): string {
  const bytes = createHmac("sha256", secret).update(`paihao id ${nth}\n${text}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
}

/** Whether a request has an Idempotency-Key. */
export function isKeyed(headers: IdSource["headers"]): boolean {
  return (headers["idempotency-key"] ?? "") !== "";
}

/** Whether the same request again would have the same id: that comes from the request. */
export function isChosenId({ headers, params }: IdSource, id: string): boolean {
  return isKeyed(headers) || headers["x-request-id"] === id || params?.id === id;
}

/** Refuses an invalid Idempotency-Key. @throws ProblemError invalid-parameter */
export function checkIdempotencyKey(headers: IdSource["headers"]): void {
  const { "idempotency-key": header } = headers;
  if (header !== undefined && bareKey(String(header)) === undefined) {
    throw new ProblemError(
      "invalid-parameter",
      "Idempotency-Key: expected 1–255 visible ASCII characters, quoted or bare",
      {
        extensions: { parameter: "Idempotency-Key" },
      },
    );
  }
}

/** The key without the quotes of a structured string (RFC 9651 §3.3.3), or undefined if it is invalid. */
export function bareKey(header: string): string | undefined {
  const value = header.trim();
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(value);
  const key = quoted ? (quoted[1] ?? "").replace(/\\(.)/g, "$1") : value;
  return KEY_FORM.test(key) && (quoted !== null || !value.startsWith('"')) ? key : undefined;
}

/** The correlation id of a request. */
export function requestId(ctx: Pick<Context, "state">): string {
  return ctx.state.requestId;
}

/** An id that a caller has chosen. @throws ProblemError invalid-parameter */
export function checkedId(id: unknown): string {
  if (typeof id === "string" && mayBeChosen(id)) return id;
  throw wrongParameter(
    "id",
    "expected 1–128 characters A–Z a–z 0–9 . _ ~ -, the first a letter or digit, not ending as those of schedules do (~20261126T030000Z)",
  );
}
