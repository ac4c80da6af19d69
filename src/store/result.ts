import type { Answer, Result } from "../task.ts";

/** The stored form of a result: one JSON line, then the body as it is. */
interface Head {
  s: number;
  t?: string;
  h?: Readonly<Record<string, string>>;
}

const NEWLINE = 0x0a;

/** Writes a result as `r:<id>` holds it: text where its body is. */
export function encodeResult({ status, contentType, headers, body }: Answer): string | Buffer {
  const head: Head = { s: status };
  if (contentType !== null) head.t = contentType;
  if (Object.keys(headers).length > 0) head.h = headers;
  const line = `${JSON.stringify(head)}\n`;
  return typeof body === "string" ? line + body : Buffer.concat([Buffer.from(line), body]);
}

/** Reads what {@link encodeResult} wrote. @throws Error when it did not */
export function decodeResult(stored: Buffer): Result {
  const end = stored.indexOf(NEWLINE);
  if (end < 0) throw new Error("a stored result has no head");
  const head = JSON.parse(stored.toString("utf8", 0, end)) as Head;
  return { status: head.s, contentType: head.t ?? null, headers: head.h ?? {}, body: stored.subarray(end + 1) };
}
