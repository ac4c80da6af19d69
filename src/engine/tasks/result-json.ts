import { isUtf8 } from "node:buffer";
import type { Result } from "../../task.ts";
import { isJsonType } from "../../task.ts";

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
