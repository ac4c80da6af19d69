import { z } from "zod";
import { isHopByHop, namedByConnection } from "../result-headers.ts";

/** What a gateway forwards unless it is told otherwise. */
export const GATEWAY_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export type GatewayMethod = (typeof GATEWAY_METHODS)[number];

/** Longest path with its query, characters: more than the headers of a request can hold. */
const PATH_LIMIT = 16_384;

/** A request as it waits in line. */
export const gatewayRequest = z.strictObject({
  method: z.enum(GATEWAY_METHODS),
  /** Path and query below the target as they were sent, beginning with a slash. */
  path: z.string().startsWith("/").max(PATH_LIMIT),
  headers: z.record(z.string(), z.string()),
  /** Base64; absent without a body. */
  body: z.base64().optional(),
  /** How the request reached the server, for X-Forwarded-* and Via; absent in what an older version stored. */
  from: z
    .strictObject({
      /** Version of HTTP. */
      version: z.string(),
      address: z.string().optional(),
      proto: z.string().optional(),
      host: z.string().optional(),
    })
    .optional(),
});
export type GatewayRequest = z.infer<typeof gatewayRequest>;

/**
 * Headers that are not forwarded beside those of one connection. A name with `_` is judged as if it had `-`: many servers make one
 * name of both.
 */
const NOT_FORWARDED = new Set([
  // Of this message, which is framed anew, and what speaks to this server.
  ...["host", "content-length", "expect", "prefer", "priority", "cancel-after", "x-request-id"],
  // Secrets, which would also be stored with the task.
  ...["authorization", "cookie", "cookie2", "x-api-key", "x-auth-token"],
  // What only a proxy may say: where the request comes from, what it was before, and who it has found the sender to be.
  ...["forwarded", "x-forwarded", "x-real-ip", "x-client-ip", "client-ip", "x-cluster-client-ip", "true-client-ip"],
  ...["cf-connecting-ip", "fastly-client-ip", "x-originating-ip", "x-remote-ip", "x-remote-addr", "x-proxyuser-ip"],
  ...["x-azure-clientip", "x-envoy-external-address", "x-envoy-original-path", "x-remote-user", "remote-user"],
  ...["x-rewrite-url", "x-host", "x-http-method", "x-http-method-override", "x-method-override"],
]);
const NOT_FORWARDED_PREFIX = /^(?:x-forwarded-|x-original-|x-ssl-|ssl-client-|x-client-cert)/;

/**
 * The headers of a request that go on to the API behind the line, names in lower case. Asked when it is stored and when it is
 * forwarded: it may have been stored by an older version.
 */
export function forwardedHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  // What Connection names belongs to that connection as well.
  const named = namedByConnection(String(headers.connection ?? ""));
  return Object.fromEntries(
    Object.entries(headers).flatMap(([given, value]) => {
      const name = given.toLowerCase();
      return value === undefined || named.has(name) || !isForwarded(name.replaceAll("_", "-"))
        ? []
        : [[name, String(value)]];
    }),
  );
}

function isForwarded(name: string): boolean {
  return !isHopByHop(name) && !NOT_FORWARDED.has(name) && !NOT_FORWARDED_PREFIX.test(name);
}

/** Headers that differ each time a request is sent: they say nothing of what is asked for. */
const OF_ONE_SENDING = new Set([
  ...["traceparent", "tracestate", "baggage", "b3", "uber-trace-id", "sentry-trace", "x-cloud-trace-context"],
  ...["x-amzn-trace-id", "x-correlation-id", "request-id", "via", "date"],
]);
const OF_ONE_SENDING_PREFIX = /^(?:x-b3-|x-datadog-|uberctx-)/;

/** What two requests have in common that are the same one, sent twice: all but what differs each time one is sent. */
export function identityOf({ method, path, headers, body }: GatewayRequest): string {
  const telling = Object.entries(headers)
    .filter(([name]) => !OF_ONE_SENDING.has(name) && !OF_ONE_SENDING_PREFIX.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([method, path, telling, body ?? null]);
}

/** How often a path is decoded to see whether a server that decodes more than once would leave the target. */
const DECODINGS = 5;
/** Forms of `.`, `/` and `\` that lenient decoders take besides `%2e`, `%2f` and `%5c`: overlong UTF-8, and those of IIS. */
const OVERLONG: readonly (readonly [form: RegExp, char: string])[] = [
  [/\xc0\xae|\xe0\x80\xae|%u002e|%uff0e/gi, "."],
  [/\xc0\xaf|\xe0\x80\xaf|%u002f|%u2215|%uff0f/gi, "/"],
  [/\xc1\x9c|\xe0\x81\x9c|%u005c|%u2216|%uff3c/gi, "\\"],
];

/**
 * Whether a path may not be forwarded: it holds what no request line can, or it has a segment `..` in a form that some server would
 * take for one, and so might lead out of the target. Clients resolve `..` themselves before they send a request.
 */
export function isUnsafePath(target: string): boolean {
  if (/[^\x21-\xff]|#/.test(target)) return true;
  let path = target.split("?", 1)[0] ?? "";
  for (let i = 0; i < DECODINGS; i += 1) {
    const loose = OVERLONG.reduce((text, [form, char]) => text.replace(form, char), path);
    if (loose.split(/[/\\]/).some(isParent)) return true;
    const decoded = loose.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === path) return false;
    path = decoded;
  }
  // Still not in its plain form: there is no telling what it is.
  return path.includes("%");
}

/** `..`, also with parameters (`..;x`), or with what some servers cut off: white space, control characters and what follows. */
function isParent(segment: string): boolean {
  const name = segment.split(/[;?#]/, 1)[0] ?? "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return /^[\x00-\x20]*\.[\x00-\x20]*\.(?:[\x00-\x20][\x00-\x20.]*)?$/.test(name);
}
