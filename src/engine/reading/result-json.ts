import { isUtf8 } from "node:buffer";
import type { Result } from "../../task.ts";

/** A result of this many bytes or more is not included in what tells of an end: it can be collected. */
export const RESULT_LIMIT = 20_000;

const JSON_TYPE = /^application\/(?:json|[a-z0-9!#$&^_.+-]+\+json)[ \t]*(?:;|$)/i;

/** The text of a result that is JSON and small enough; otherwise undefined. */
export function resultJson({ contentType, body }: Result): string | undefined {
  if (contentType === null || !JSON_TYPE.test(contentType) || body.length >= RESULT_LIMIT || !isUtf8(body)) return;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  try {
    JSON.parse(text);
    return text;
  } catch {
    // The body of a handler's Response need not match its content type.
    return undefined;
  }
}
