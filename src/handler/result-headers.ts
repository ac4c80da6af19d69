/**
 * Which headers of a result are kept: applied to every result when it is stored, and again when it is sent, since another program may
 * have stored it. Names are compared in lower case.
 */
import { validateHeaderName, validateHeaderValue } from "node:http";

/** Statuses of responses without a body (RFC 9110 §15.3.5, §15.3.6, §15.4.5). */
export const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Headers of one connection (RFC 9110 §7.6.1), besides those that Connection names and those of a proxy. */
const HOP_BY_HOP = new Set([
  ...["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings"],
]);

/** Headers that only the server sets. Content-Type and Content-Length are stored separately. */
const SERVERS_OWN = new Set([
  ...["content-type", "content-length", "date", "server", "x-content-type-options"],
  // A cookie would belong to this origin, and go to whoever collects the result.
  ...["set-cookie", "set-cookie2"],
]);

/** Headers about the task or the request, which only the server sets. */
const OF_TASKS =
  /^(?:x-request-id|operation-location|preference-applied|idempotent-replayed|x-task-state|x-queue-(?:index|eta)|access-control-.+|ratelimit(?:-.+)?)$/;

/**
 * Headers that an API that a handler forwards must not set, since they would affect this whole origin, or the proxy in front of this
 * server. Handlers may set them: they are the operator's own code.
 */
const OF_ORIGINS = new Set([
  ...["refresh", "clear-site-data", "service-worker-allowed", "alt-svc", "strict-transport-security"],
  ...["timing-allow-origin", "public-key-pins", "public-key-pins-report-only", "expect-ct", "accept-ch", "critical-ch"],
  ...["nel", "report-to", "reporting-endpoints", "set-login", "speculation-rules", "origin-agent-cluster"],
  ...["x-sendfile", "x-lighttpd-send-file", "x-reproxy-url", "x-reproxy-file"],
]);
const OF_PROXIES = /^x-accel-/;

/** A header's name and value. */
export type HeaderField = readonly [name: string, value: string];

/** Whether a header (lower case) belongs to one connection. */
export function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name) || name.startsWith("proxy-");
}

/** The header names, in lower case, that Connection says belong to its connection as well. Takes time linear in the value. */
export function namedByConnection(value: string): ReadonlySet<string> {
  return new Set(value.split(",").map((name) => name.trim().toLowerCase()));
}

/**
 * The headers of a result that are kept, by their names in lower case. Invalid names and values are dropped, since they could
 * not be sent.
 */
export function keptHeaders(fields: Iterable<HeaderField>): Record<string, string> {
  const kept = new Map<string, string>();
  for (const [given, value] of fields) {
    const name = given.toLowerCase();
    if (isHopByHop(name) || SERVERS_OWN.has(name) || OF_TASKS.test(name) || !isField(name, value)) continue;
    const before = kept.get(name);
    kept.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(kept);
}

/** The headers of an API's response that the result keeps. */
export function keptOfUpstream(fields: readonly HeaderField[]): HeaderField[] {
  const connection = fields.filter(([name]) => name.toLowerCase() === "connection").map(([, value]) => value);
  const named = namedByConnection(connection.join(","));
  return fields.filter(([given]) => {
    const name = given.toLowerCase();
    return !isHopByHop(name) && !named.has(name) && !OF_ORIGINS.has(name) && !OF_PROXIES.test(name);
  });
}

/**
 * A media type with its parameters (RFC 9110 §8.3.1). White space can match in only one way, so that an invalid value is
 * refused in linear time.
 */
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const QUOTED = '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\t\\x20-\\x7e])*"';
const CONTENT_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;(?:[ \\t]*${TOKEN}=(?:${TOKEN}|${QUOTED}))?)*$`);

/** Whether a value is a valid Content-Type for a result. */
export function isContentType(value: string): boolean {
  return CONTENT_TYPE.test(value);
}

/**
 * Types, without parameters, that a browser displays without executing anything, or does not display at all. Viewers of PDF run its scripts
 * apart from the pages of its origin, and show nothing in a sandbox.
 */
const INERT =
  /^(?:application\/(?:[\w.-]+\+)?json|application\/(?:octet-stream|x-ndjson|pdf)|text\/(?:plain|csv)|image\/(?:png|jpeg|gif|webp|avif)|(?:audio|video)\/[\w.+-]+)$/i;

/**
 * Whether a browser may execute a body of this type: any type that is not known to be inert, or a list of types, of which
 * browsers use the last.
 */
export function isActive(contentType: string | null): boolean {
  if (contentType === null || contentType.includes(",")) return true;
  return !INERT.test((contentType.split(";", 1)[0] ?? "").trim());
}

function isField(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
