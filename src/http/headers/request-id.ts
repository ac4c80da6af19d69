import { createHmac, randomUUID } from "node:crypto";
import { stringify } from "uuid";
import { PaihaoError } from "../../errors.ts";
import { isId } from "../../task.ts";

/** Visible ASCII, as the header's drafts bound it. */
const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

/** The paths whose POST submits a task, with its queue. */
const SUBMIT_PATH = /^\/v1\/(?:requests|queues\/([^/]+)\/requests)\/?$/;
/** The paths behind which another API waits in line; any method submits. */
const GATEWAY_PATH = /^\/v1\/gateway\/([^/]+)(?:\/.*)?$/;
/** The paths whose PUT submits a task under the id they end with. */
const PUT_PATH = /^\/v1\/(?:requests|queues\/[^/]+\/requests)\/([^/]+)\/?$/;
/** The paths whose POST and PUT submit a task under the id that was allocated for it. */
const ALLOCATED_PATH = /^\/api\/v1\/task\/([^/]+)\/?$/;

/** The deployment's secret, whatever it is now. */
export interface IdSecret {
  readonly value: string;
}

/** What of a request its id depends on. */
export interface IdSource {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * The correlation id of a request: the task's id where the request submits one. An Idempotency-Key makes the id from caller,
 * queue and key, so that the same key finds the same task without a look-up, and from the deployment's secret, so that nobody
 * else can compute it and take it first; a PUT and an allocated task have it in their path; else it is a fit X-Request-Id or a
 * fresh one. An unfit header is never used, since it goes into logs and headers.
 */
export function requestIdOf(request: IdSource, caller: string | null, secret: IdSecret): string {
  const { method, path, headers } = request;
  const allocated = method === "POST" || method === "PUT" ? ALLOCATED_PATH.exec(path)?.[1] : undefined;
  if (allocated !== undefined && isId(allocated)) return allocated;
  const key = single(headers["idempotency-key"]);
  const gateway = GATEWAY_PATH.exec(path);
  if (key !== undefined && (method === "POST" || gateway)) {
    const submits = gateway ?? SUBMIT_PATH.exec(path);
    const bare = bareKey(key);
    if (submits && bare !== undefined) {
      return derivedId(JSON.stringify([caller, decoded(submits[1] ?? "default"), bare]), secret.value);
    }
  } else if (method === "PUT" && !gateway) {
    const id = decoded(PUT_PATH.exec(path)?.[1] ?? "");
    if (isId(id)) return id;
  }
  const sent = single(headers["x-request-id"]);
  return sent !== undefined && isId(sent) ? sent : randomUUID();
}

/** An id that only the deployment can make of a text: a UUID of version 8 (RFC 9562 §5.8). */
function derivedId(text: string, secret: string): string {
  const bytes = createHmac("sha256", secret).update(`paihao id 1\n${text}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
}

/** Refuses an Idempotency-Key that cannot be one. @throws PaihaoError invalid-parameter */
export function checkIdempotencyKey(headers: IdSource["headers"]): void {
  const header = single(headers["idempotency-key"]);
  if (header !== undefined && bareKey(header) === undefined) {
    throw new PaihaoError(
      "invalid-parameter",
      "Idempotency-Key: expected 1–255 visible ASCII characters, quoted or bare",
      {
        extensions: { parameter: "Idempotency-Key" },
      },
    );
  }
}

/** The key without the quotes of a structured string (RFC 9651 §3.3.3), or undefined where it is none. */
function bareKey(header: string): string | undefined {
  const value = header.trim();
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(value);
  const key = quoted ? (quoted[1] ?? "").replace(/\\(.)/g, "$1") : value;
  return KEY_FORM.test(key) && (quoted !== null || !value.startsWith('"')) ? key : undefined;
}

/** A segment of a path as the router hands it on; one that cannot be decoded will be refused by it. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
