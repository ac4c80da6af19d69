import { createHash } from "node:crypto";
import { z } from "zod";
import { messageOf } from "../../errors.ts";
import { giveUp } from "../../handler/intents.ts";
import { HEADED_TYPE, isJsonType } from "../../task.ts";

/** The methods that a gateway forwards by default. */
export const GATEWAY_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export type GatewayMethod = (typeof GATEWAY_METHODS)[number];

/** Longest path with its query, characters: more than a request line can contain. */
const PATH_LIMIT = 16_384;
/** Largest body that functions get, bytes. */
const SHOWN_BODY_BYTES = 65_536;

/** A request without its body, as it is stored. */
const requestHead = z.strictObject({
  method: z.enum(GATEWAY_METHODS),
  /** Path and query below the target as they were sent, beginning with a slash. */
  path: z.string().startsWith("/").max(PATH_LIMIT),
  headers: z.record(z.string(), z.string()),
  /** How the request reached the server, for X-Forwarded-* and Via. */
  from: z.strictObject({
    /** Version of HTTP. */
    version: z.string(),
    address: z.string().optional(),
    proto: z.string().optional(),
    host: z.string().optional(),
  }),
});
export type RequestHead = z.infer<typeof requestHead>;

/** A request as functions get it, such as `by`. */
export interface GatewayRequest extends Omit<RequestHead, "method"> {
  readonly method: string;
  /** The value of a body that is JSON and not longer than 64 KiB; else absent. */
  readonly body?: unknown;
}

/** A request with its body, which may be empty. */
export interface StoredRequest {
  readonly head: RequestHead;
  readonly body: Buffer;
}

/** A request as an input: the head as a line of JSON, then the bytes of the body. */
export function requestInput({ head, body }: StoredRequest): { readonly input: Buffer; readonly mediaType: string } {
  return { input: Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]), mediaType: HEADED_TYPE };
}

/** The request of an input. @throws an intent to give up, if it is none */
export function readRequest(input: unknown): StoredRequest {
  try {
    if (!(input instanceof Uint8Array)) throw new TypeError("it is not bytes");
    const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
    const end = bytes.indexOf("\n");
    return { head: requestHead.parse(JSON.parse(bytes.toString("utf8", 0, end))), body: bytes.subarray(end + 1) };
  } catch (error) {
    throw giveUp({ status: 500, title: "The stored request cannot be read", detail: messageOf(error) });
  }
}

/** A request as functions get it. */
export function shownRequest({ head, body }: StoredRequest): GatewayRequest {
  const value = body.length > SHOWN_BODY_BYTES ? undefined : jsonBody(head.headers, body);
  return value === undefined ? head : { ...head, body: value };
}

/** The value of a body that is JSON; undefined for any other. */
function jsonBody(
  { "content-type": type = "", "content-encoding": coding }: RequestHead["headers"],
  body: Buffer,
): unknown {
  if (coding !== undefined || !isJsonType(type)) return undefined;
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Headers that differ each time the same request is sent. */
const OF_ONE_SENDING = new Set([
  ...["baggage", "b3", "uber-trace-id", "sentry-trace", "x-cloud-trace-context"],
  ...["x-amzn-trace-id", "x-correlation-id", "request-id", "via", "date"],
]);
const OF_ONE_SENDING_PREFIX = /^(?:x-b3-|x-datadog-|uberctx-)/;

/** What identifies a request that is sent twice: everything except the headers that differ each time. */
export function identityOf({ head: { method, path, headers }, body }: StoredRequest): string {
  const telling = Object.entries(headers)
    .filter(([name]) => !OF_ONE_SENDING.has(name) && !OF_ONE_SENDING_PREFIX.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([method, path, telling, createHash("sha256").update(body).digest("hex")]);
}

/** How often a path is decoded, since a server may decode it more than once. */
const DECODINGS = 5;
/** A sequence of UTF-8, also an overlong one, and one longer than the standard allows. */
const UTF8 =
  /[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3}|[\xf8-\xfb][\x80-\xbf]{4}|[\xfc\xfd][\x80-\xbf]{5}/g;
/** Characters that look like a separator or a dot without being compatible to it (NFKC). */
const ALIKE: readonly (readonly [form: RegExp, char: string])[] = [
  [/[\u2044\u2215\u29f8]/g, "/"],
  [/[\u2216\u29f5]/g, "\\"],
  [/\u3002/g, "."],
];

/**
 * Whether a path must not be forwarded: it contains characters that are invalid in a request line, or a segment `..` in a form
 * that some server accepts, so that it might lead out of the target. Clients resolve `..` themselves before they send a
 * request.
 */
export function isUnsafePath(target: string): boolean {
  if (/[^\x21-\xff]|#/.test(target)) return true;
  let path = target.split("?", 1)[0] ?? "";
  for (let i = 0; i < DECODINGS; i += 1) {
    const loose = folded(path);
    if (loose.split(/[/\\]/).some(isParent)) return true;
    const decoded = loose.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === path) return false;
    path = decoded;
  }
  // It is still encoded after all decodings, so it is unsafe.
  return path.includes("%");
}

/**
 * A path as the most lenient servers read it: with the `%u…` of IIS, bytes as UTF-8 of any length, and each character as the
 * ordinary one that it is compatible with (Unicode NFKC), such as a full-width dot. ASCII stays as it is.
 */
function folded(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: whatever is not ASCII is looked for
  if (!/[^\x00-\x7f]|%u/i.test(path)) return path;
  const text = path
    .replace(UTF8, characterOf)
    .replace(/%u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .normalize("NFKC")
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return ALIKE.reduce((all, [form, char]) => all.replace(form, char), text);
}

/** The character of a sequence of UTF-8, whose first byte tells by its ones how many bytes there are. */
function characterOf(bytes: string): string {
  const first = bytes.charCodeAt(0) & (0x7f >> bytes.length);
  const code = [...bytes.slice(1)].reduce((bits, byte) => bits * 64 + (byte.charCodeAt(0) & 0x3f), first);
  return code <= 0x10ffff ? String.fromCodePoint(code) : bytes;
}

/**
 * Whether a segment is `..`, perhaps with parameters (`..;x`) or with what some servers cut off: white space and control
 * characters.
 */
function isParent(segment: string): boolean {
  const name = segment.split(/[;?#]/, 1)[0] ?? "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return /^[\x00-\x20]*\.[\x00-\x20]*\.(?:[\x00-\x20][\x00-\x20.]*)?$/.test(name);
}
