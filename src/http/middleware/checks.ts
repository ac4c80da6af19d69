import { isIP } from "node:net";
import type { Context } from "koa";
import type { ServedHosts } from "../../config/config.ts";
import { PROBLEM_TYPE } from "../../engine/tasks/result.ts";
import { ProblemError } from "../../errors.ts";
import { bareProblem } from "../problems/problem.ts";
import { hostOf, namedIn, schemeOf, shownHost } from "../request/forwarded.ts";
import { hasEffects, METHODS, routeOf } from "../route.ts";
import { authorize } from "./authorize.ts";

/** What requests are checked against. */
export interface Rules {
  /** Those of CORS_ORIGINS: exact ones, or `*`. */
  readonly corsOrigins: readonly string[];
  /** Undefined: all. */
  readonly servedHosts: ServedHosts | undefined;
}

/** Refuses a request that is malformed or not allowed, by throwing; or answers it, and returns true. */
export function requestCheck({ corsOrigins, servedHosts }: Rules): (ctx: Context) => boolean {
  const origins = new Set(corsOrigins);
  const hosts = servedHosts && { ...servedHosts, names: new Set(servedHosts.names) };
  return (ctx) => {
    if (answersForm(ctx)) return true;
    if (hosts) checkHost(ctx, hosts);
    if (origins.size > 0 && answersOrigin(ctx, origins)) return true;
    checkOrigin(ctx, origins);
    authorize(ctx);
    return false;
  };
}

/** Limits of a request's head; Node's parser itself stops at HEAD_BYTES. */
const HEAD_LIMITS = { target: 16_384, fieldBytes: 16_384, fields: 1000 } as const;
/** After a malformed head, nothing that follows on the connection can be trusted. */
const CLOSE = { Connection: "close" };

/** Refuses what RFC 9112 requires a server to refuse but Node accepts, and answers `OPTIONS *`. */
function answersForm(ctx: Context): boolean {
  const { url: target = "", rawHeaders, httpVersion } = ctx.req;
  if (target.length > HEAD_LIMITS.target) {
    throw new ProblemError("uri-too-long", `The target is longer than ${HEAD_LIMITS.target} characters.`, {
      headers: CLOSE,
    });
  }
  let bytes = 0;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    // Including the colon, a space and the line end.
    bytes += name.length + (rawHeaders[i + 1] ?? "").length + 4;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (bytes > HEAD_LIMITS.fieldBytes) {
    return tooManyFields(ctx, `The headers are longer than ${HEAD_LIMITS.fieldBytes} bytes.`);
  }
  if (rawHeaders.length > 2 * HEAD_LIMITS.fields) {
    return tooManyFields(ctx, `There are more than ${HEAD_LIMITS.fields} headers.`);
  }
  if (hosts > 1) throw wrongHost("expected one Host header, not several");
  if (hosts === 0 && httpVersion === "1.1") throw wrongHost("expected a Host header");
  if (target !== "*" || ctx.method !== "OPTIONS") return false;
  ctx.set("Allow", `${METHODS}, OPTIONS`);
  ctx.status = 204;
  return true;
}

function wrongHost(expected: string): ProblemError {
  return new ProblemError("invalid-parameter", `Host: ${expected}`, {
    headers: CLOSE,
    extensions: { parameter: "Host" },
  });
}

/** 431 is not in the catalogue, since its status says everything (RFC 6585 §5). */
function tooManyFields(ctx: Context, detail: string): true {
  ctx.status = 431;
  ctx.set(CLOSE);
  ctx.type = PROBLEM_TYPE;
  ctx.body = JSON.stringify(bareProblem(431, detail));
  return true;
}

/** A host without its port: a name, an IPv4 address, or an IPv6 address in brackets. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::\d*)?$/;

/**
 * Answers only requests for our own hosts. A web page can make its own name resolve to this machine (DNS rebinding) and then
 * has the same origin as we do, but its requests still have that name as Host. A request without a Host is HTTP/1.0, which no
 * browser sends. Forwarding headers are ignored, since such a page could send them itself.
 */
function checkHost(
  ctx: Context,
  { names, addresses, probes }: Omit<ServedHosts, "names"> & { readonly names: ReadonlySet<string> },
): void {
  const { host } = ctx.req.headers;
  if (host === undefined) return;
  // The host of an absolute target takes precedence over the header, but no honest client sends two that differ.
  const target = namedIn(ctx.req.url ?? "");
  for (const given of target === undefined ? [host] : [host, target.slice(target.lastIndexOf("@") + 1)]) {
    const name = HOST.exec(given)?.[1]?.toLowerCase() ?? "";
    if (names.has(name) || (addresses && isIP(name.replace(/^\[|\]$/g, "")) !== 0)) continue;
    // The probes of an orchestrator often know only the address of a server.
    if (probes && routeOf(ctx)?.polledBy === "orchestrator") continue;
    const shown = shownHost(name) || "The host of this request";
    throw new ProblemError("wrong-host", `${shown} is not a host of this server; ALLOWED_HOSTS can list it.`);
  }
}

/** Headers that pages may read in addition to those they always may; `*` is for those that handlers set. */
const EXPOSED = [
  "X-Request-Id",
  "Location",
  "Operation-Location",
  "Link",
  "Preference-Applied",
  "Retry-After",
  "X-Task-State",
  "X-Queue-Index",
  "X-Queue-ETA",
  "Presence",
  "Idempotent-Replayed",
  "ETag",
  "Vary",
  "Allow",
  "WWW-Authenticate",
  "RateLimit",
  "RateLimit-Policy",
  "X-Accel-Buffering",
  "*",
].join(", ");

/** All headers, since the gateway forwards them; `*` does not include Authorization (Fetch standard, "CORS protocol"). */
const REQUEST_HEADERS = "*, Authorization";
/** How long a browser may cache a preflight, seconds. */
const MAX_AGE = "600";

/**
 * Lets web pages of some origins read responses, and answers their preflights. Never with credentials: pages send keys themselves,
 * the browser does not add them.
 * @param origins those of CORS_ORIGINS: exact ones, or `*`
 */
function answersOrigin(ctx: Context, origins: ReadonlySet<string>): boolean {
  const origin = ctx.get("Origin");
  ctx.vary("Origin");
  const all = origins.has("*");
  if (origin === "" || !(all || origins.has(origin))) return false;
  ctx.set("Access-Control-Allow-Origin", all ? "*" : origin);
  if (ctx.method !== "OPTIONS" || ctx.get("Access-Control-Request-Method") === "") {
    ctx.set("Access-Control-Expose-Headers", EXPOSED);
    return false;
  }
  ctx.set("Access-Control-Allow-Methods", METHODS);
  ctx.set("Access-Control-Allow-Headers", REQUEST_HEADERS);
  ctx.set("Access-Control-Max-Age", MAX_AGE);
  ctx.status = 204;
  return true;
}

/**
 * Prevents web pages of other origins from changing anything through a visitor's browser: if a request with effects has an
 * Origin, it must be ours or a listed one; if the browser marks the request as another site's (Fetch Metadata), it must be a
 * listed one. Other programs send neither header. Another port of the same host is another origin.
 * @param origins those of CORS_ORIGINS: exact ones, or `*`
 */
function checkOrigin(ctx: Context, origins: ReadonlySet<string>): void {
  const { origin = "", "sec-fetch-site": fetchSite = "" } = ctx.req.headers;
  if (origin === "" && fetchSite === "") return;
  const site = String(fetchSite).toLowerCase();
  const elsewhere = site === "cross-site" || site === "same-site" || (origin !== "" && !isOurs(ctx, origin));
  if (!elsewhere || !hasEffects(ctx) || origins.has(origin) || (origins.has("*") && origin !== "")) return;
  throw new ProblemError("forbidden", "A page of another origin may do this only if CORS_ORIGINS lists that origin.");
}

/**
 * Whether an origin is that of this server as the client addressed it: with the host and port of the request. The scheme is
 * known only from a trusted proxy. `null`, and origins that are not http or https, are never ours.
 */
function isOurs(ctx: Context, origin: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const asked = `${protocol}//${hostOf(ctx)}`;
  if (!URL.canParse(asked) || new URL(asked).host !== host) return false;
  return !(ctx.app.proxy && ctx.get("X-Forwarded-Proto") !== "") || `${schemeOf(ctx)}:` === protocol;
}
