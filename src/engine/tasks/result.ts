import { isUtf8 } from "node:buffer";
import { type ErrorCode, errorEntry } from "../../errors.ts";
import type { Problem } from "../../handler/intents.ts";
import { isBytes, jsonText } from "../../handler/json-text.ts";
import { type Answer, isJsonType, type Result } from "../../task.ts";

/**
 * Converts the return value of a worker to a result: bytes of any kind become `application/octet-stream`, undefined a 204, anything
 * else JSON.
 * @param given status and content type that the worker chose
 * @throws TypeError for a value that JSON cannot represent
 */
export function answerOf(
  value: unknown,
  given?: { readonly status?: number | undefined; readonly contentType?: string | undefined },
): Answer {
  if (isBytes(value)) {
    const contentType = given?.contentType ?? "application/octet-stream";
    return { status: given?.status ?? 200, contentType, headers: {}, body: bytesOf(value) };
  }
  return jsonAnswer(jsonText(value, "the result"), given);
}

/** The same of JSON text. */
export function jsonAnswer(json: string | undefined, given?: Parameters<typeof answerOf>[1]): Answer {
  if (json === undefined) return { status: given?.status ?? 204, contentType: null, headers: {}, body: "" };
  const contentType = given?.contentType ?? "application/json";
  return { status: given?.status ?? 200, contentType, headers: {}, body: json };
}

function bytesOf(value: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (value instanceof Uint8Array) return value;
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

/** Why a result is too large to be stored; undefined if it is not. */
export function sizeError({ body }: Pick<Answer, "body">, maxBytes: number): string | undefined {
  const bytes = Buffer.byteLength(body);
  return bytes > maxBytes ? `the result has ${bytes} bytes, more than MAX_RESULT (${maxBytes})` : undefined;
}

/** The media type of problem documents (RFC 9457). */
export const PROBLEM_TYPE = "application/problem+json";

/** A problem as the result of a task. */
export function problemResult(problem: Problem & { status: number }): Answer {
  return {
    status: problem.status,
    contentType: PROBLEM_TYPE,
    headers: {},
    body: JSON.stringify(problem),
  };
}

/**
 * The problem of an error code.
 * @param detail for the caller
 * @param stack of what a handler threw, for its author
 */
export function catalogueResult(code: ErrorCode, detail?: string, stack?: string): Answer {
  const { status, title } = errorEntry(code);
  const more = { ...(detail !== undefined && { detail }), ...(stack !== undefined && { stack }) };
  return problemResult({ type: `/problems/${code}`, title, status, ...more });
}

/** A result of this many bytes or more is not included in events and webhooks: it can be collected. */
export const RESULT_LIMIT = 20_000;

/**
 * The JSON of an object, not an empty one, up to the value of another member. For values that are JSON already: parsing and serializing
 * them might change a number.
 */
export function beforeMember(object: string, name: string): string {
  return `${object.slice(0, -1)},${JSON.stringify(name)}:`;
}

/** The text of a result that is JSON and shorter than a limit, by default {@link RESULT_LIMIT}; otherwise undefined. */
export function resultJson(result: Result, limit = RESULT_LIMIT): string | undefined {
  const { body } = result;
  if (!isJsonType(result.contentType) || body.length >= limit || !isUtf8(body)) return;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  try {
    JSON.parse(text);
    return text;
  } catch {
    // The body of a handler's Response need not match its content type.
    return undefined;
  }
}
