import { isBytes, jsonText } from "../../handler/json-text.ts";
import type { Answer } from "../../task.ts";

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
