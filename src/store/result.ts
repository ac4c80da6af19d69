import { isUtf8 } from "node:buffer";
import type { Result } from "../task.ts";

/** The stored form of a result: one JSON line, then the body as it is. */
interface Head {
  s: number;
  t?: string;
  h?: Readonly<Record<string, string>>;
}

const NEWLINE = 0x0a;

/** A body up to this length goes to the store as text where it is text: a call that is all text is made without copies. */
const TEXT_BYTES = 4096;

/** Writes a result as `r:<id>` holds it: as text where that is the same bytes. */
export function encodeResult({ status, contentType, headers, body }: Result): string | Buffer {
  const head: Head = { s: status };
  if (contentType !== null) head.t = contentType;
  if (Object.keys(headers).length > 0) head.h = headers;
  const line = `${JSON.stringify(head)}\n`;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return bytes.length <= TEXT_BYTES && isUtf8(bytes)
    ? line + bytes.toString("utf8")
    : Buffer.concat([Buffer.from(line), bytes]);
}

/** Reads what {@link encodeResult} wrote. @throws Error when it did not */
export function decodeResult(stored: Buffer): Result {
  const end = stored.indexOf(NEWLINE);
  if (end < 0) throw new Error("a stored result has no head");
  const head = JSON.parse(stored.toString("utf8", 0, end)) as Head;
  return { status: head.s, contentType: head.t ?? null, headers: head.h ?? {}, body: stored.subarray(end + 1) };
}
