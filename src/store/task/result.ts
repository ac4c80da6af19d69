import type { Answer, Result } from "../../task.ts";

/** The stored form of a result: one JSON line, empty for the usual head, then the body as it is. */
interface Head {
  s: number;
  t?: string;
  h?: Readonly<Record<string, string>>;
}

const NEWLINE = 0x0a;
/** What an empty line stands for. */
const USUAL: Head = { s: 200, t: "application/json" };

/** Writes a result as `r:<id>` holds it: a string if its body is one. */
export function encodeResult({ status, contentType, headers, body }: Answer): string | Buffer {
  const head: Head = { s: status };
  if (contentType !== null) head.t = contentType;
  const isPlain = Object.keys(headers).length === 0;
  if (!isPlain) head.h = headers;
  const isUsual = isPlain && status === USUAL.s && contentType === USUAL.t;
  const line = isUsual ? "\n" : `${JSON.stringify(head)}\n`;
  return typeof body === "string" ? line + body : Buffer.concat([Buffer.from(line), body]);
}

/** Whether the beginning of a stored result has all of its head and some of its body, so that it does not look like an empty result. */
export function hasHead(start: Buffer): boolean {
  return start.subarray(0, -1).includes(NEWLINE);
}

/**
 * Reads what {@link encodeResult} wrote. Never throws: an unreadable record gets status 500 and all its bytes as the body, so
 * that the rest of its task can still be shown.
 */
export function decodeResult(stored: Buffer): Result {
  const end = stored.indexOf(NEWLINE);
  const head = end < 0 ? undefined : end === 0 ? USUAL : headOf(stored.toString("utf8", 0, end));
  if (!head) return { status: 500, contentType: "application/octet-stream", headers: {}, body: stored };
  return { status: head.s, contentType: head.t ?? null, headers: head.h ?? {}, body: stored.subarray(end + 1) };
}

function headOf(line: string): Head | undefined {
  try {
    const head = JSON.parse(line) as Partial<Record<keyof Head, unknown>> | null;
    const { s, t = "", h = {} } = head ?? {};
    const status = typeof s === "number" && Number.isInteger(s) && s >= 200 && s <= 599;
    const isText = (value: unknown) => typeof value === "string";
    const headers = typeof h === "object" && h !== null && Object.values(h).every(isText);
    return status && isText(t) && headers ? (head as Head) : undefined;
  } catch {
    return undefined;
  }
}
