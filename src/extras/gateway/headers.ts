import type { IncomingMessage } from "node:http";
import { type HeaderField, isHopByHop, keptOfUpstream, namedByConnection } from "../../handler/result-headers.ts";
import type { RequestHead } from "./request.ts";

/** The name of this server in Via (RFC 9110 §7.6.3). */
const VIA = "paihao";

/** Headers of this message and of this server, which a gateway replaces or keeps to itself. */
const OWN = new Set([
  ...["host", "content-length", "expect", "prefer", "priority", "cancel-after", "presence", "x-request-id"],
  // The trace context, which is checked, kept with the task, and sent as that of the attempt.
  ...["traceparent", "tracestate"],
]);
/** Headers that a gateway sets or extends to describe how the request arrived. */
const SET = new Set(["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "via"]);
/** Headers in which callers send this server their API key. */
const OF_CALLERS = new Set(["authorization", "cookie", "cookie2"]);

/** Headers that only a proxy may set: who sent the request and how, and its original form. */
const OF_PROXIES = new RegExp(
  `^(?:${[
    ...["forwarded", "x-forward", "http-", "x-original-", "x-real-", "x-rewrite-", "x-host$", "x-scheme$"],
    ...["x-http-method", "x-method-override$", "x-url-scheme$", "front-end-https$", "x-middleware-", "proxy(?:-|$)"],
    // The client's address.
    ...["(?:x-|true-|incap-)?client-?ip$", "x-(?:cluster|sucuri)-", "x-originating-", "x-proxy", "wl-proxy-"],
    // The client's certificate.
    ...["(?:x-)?(?:client-)?(?:ssl|m?tls)-", "x-client-(?:dn|verify|ssl|m?tls|subject|issuer|san|serial|fingerprint)"],
    ...["x-arr-", "x-spiffe-"],
    // The user. Many proxies of one kind each have a prefix of their own.
    ...[
      "remote-",
      "x-remote",
      "(?:x-)?impersonate-",
      "x-user(?!-agent$)",
      "x-email$",
      "x-(?:groups?|roles?|scopes?|consumer|principal)(?:-|$)",
    ],
    ...["(?:x-)?(?:oidc|saml|sso|shib(?:boleth)?|mellon|authelia|authentik|pomerium|vouch|keycloak)-", "iv-", "sm-"],
    ...["x-goog-(?:iap|authenticated)-", "x-amzn-(?:oidc|mtls|tls)-", "x-ms-(?:client-principal|original)", "x-azure-"],
    ...["x-(?:apigateway|endpoint)-api-", "x-anonymous-consumer$", "x-appengine-", "x-envoy-", "x-vercel-", "x-nf-"],
    ...["x-waws-", "(?:x-)?akamai-", "cf-", "cloudfront-", "fastly-", "fly-", "tailscale-", "-ws"],
  ].join("|")})`,
);

/** Words or endings of a header name that mark its value as a secret or a proof of identity. */
const SECRET_WORD =
  /^(?:(?:o|web|basic|pre)?auth(?:$|[^o]|ori[sz])|cert(?:$|s|ificates?$)|cookie2?$|credentials?$|jwt|otp$|totp$|dpop$|csrf$|xsrf$|pwd$|passphrase$|assertion$|sessions?$)/;
const SECRET_ENDS = [
  ...["token", "tokens", "secret", "secrets", "password", "passwd", "cookie", "sessionid"],
  ...["apikey", "accesskey", "authkey", "secretkey", "privatekey"],
];
/** A key that may grant access. */
const KEY = /(?<!(?:^|-)(?:idempotency|partition|shard|routing|sort|cache|surrogate|public)-)(?<=^|-)keys?$/;

/** What the gateway needs to repeat a request, and the API to understand its body. */
const ALWAYS = ["content-type", "content-encoding", "content-language", "idempotency-key"];

/**
 * The headers of a request that are forwarded to the API, names in lower case. Applied when it is stored and when it is
 * forwarded, since a process with other options may have stored it.
 * @param forward only these, as {@link forwardList} returns them; default: all except secret ones and those of proxies
 */
export function forwardedHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  forward?: ReadonlySet<string>,
): Record<string, string> {
  // Headers that Connection lists are hop-by-hop too.
  const named = namedByConnection(String(headers.connection ?? ""));
  return Object.fromEntries(
    Object.entries(headers).flatMap(([given, value]) => {
      const name = given.toLowerCase();
      const isForwarded = forward ? forward.has(name) : isForwardedByDefault(plain(name));
      return value === undefined || named.has(name) || !isForwarded ? [] : [[name, String(value)]];
    }),
  );
}

/**
 * The option `forward` of a gateway, checked, with the headers that are always forwarded.
 * @throws TypeError that names the header, and says why it cannot be forwarded
 */
export function forwardList(names: readonly string[], whose: string): ReadonlySet<string> {
  if (!Array.isArray(names))
    throw new TypeError(`${whose}: forward is ${JSON.stringify(names)}, expected a list of header names`);
  for (const name of names) {
    const why = refusal(name);
    if (why !== undefined) throw new TypeError(`${whose}: forward contains ${JSON.stringify(name)}, ${why}`);
  }
  return new Set([...ALWAYS, ...names.map((name) => name.toLowerCase())]);
}

function refusal(given: string): string | undefined {
  if (typeof given !== "string" || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(given)) return "expected the name of a header";
  const name = plain(given.toLowerCase());
  if (isHopByHop(name)) return "which belongs to one connection";
  if (OWN.has(name)) return "which is for this server, or set by it";
  if (SET.has(name)) return "which the gateway sets itself";
  if (OF_CALLERS.has(name)) return "in which callers send this server their API key";
  return undefined;
}

/** A name as seen by servers that treat all characters other than letters and digits alike: `X_Real.IP` is `x-real-ip`. */
function plain(name: string): string {
  return name.replace(/[^a-z0-9]/g, "-");
}

function isForwardedByDefault(name: string): boolean {
  return !isHopByHop(name) && !OWN.has(name) && (name === "via" || !OF_PROXIES.test(name)) && !isSecret(name);
}

function isSecret(name: string): boolean {
  if (KEY.test(name)) return true;
  return name.split("-").some((word) => SECRET_WORD.test(word) || SECRET_ENDS.some((end) => word.endsWith(end)));
}

/** Whether a name (lower case) says how a request arrived; a door sets these itself. */
const OF_ARRIVAL = /^(?:forwarded$|x-forward|x-real-ip$|proxy(?:-|$))/;

/**
 * The headers of a request at a door as the API gets them: in raw case and order, without those of the connection, and those that say how
 * it arrived, which are set.
 * @param options.host of the API
 * @param options.drop names, in lower case, that the API does not get: those that carried our API key
 * @param options.add after all others, in place of those of the same names
 */
export function requestFields(
  { rawHeaders, httpVersion }: IncomingMessage,
  options: { host: string; from: Partial<RequestHead["from"]>; drop: ReadonlySet<string>; add: readonly HeaderField[] },
): HeaderField[] {
  const { host, from, drop, add } = options;
  const replaced = new Set(add.map(([name]) => name.toLowerCase()));
  const fields: HeaderField[] = [["Host", host]];
  for (const field of endToEnd(rawHeaders)) {
    const name = field[0].toLowerCase();
    if (name !== "host" && !drop.has(name) && !replaced.has(name) && !OF_ARRIVAL.test(plain(name))) fields.push(field);
  }
  if (from.address !== undefined) fields.push(["X-Forwarded-For", from.address]);
  if (from.proto !== undefined) fields.push(["X-Forwarded-Proto", from.proto]);
  if (from.host !== undefined) fields.push(["X-Forwarded-Host", from.host]);
  fields.push(["Via", `${httpVersion} ${VIA}`], ...add);
  return fields;
}

/** The headers of a stored request as the API gets them. @param forwarded as {@link forwardedHeaders} returns them */
export function taskHeaders({ from }: RequestHead, forwarded: Record<string, string>): Record<string, string> {
  const via = `${from.version} ${VIA}`;
  return {
    ...forwarded,
    via: forwarded.via === undefined ? via : `${forwarded.via}, ${via}`,
    ...(from.address === undefined ? {} : { "x-forwarded-for": from.address }),
    ...(from.proto === undefined ? {} : { "x-forwarded-proto": from.proto }),
    ...(from.host === undefined ? {} : { "x-forwarded-host": from.host }),
  };
}

/** The headers of the API's answer to a stored request that the result keeps, and our own. */
export function answerHeaders({ rawHeaders, httpVersion }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of keptOfUpstream(fieldsOf(rawHeaders))) headers.append(name, value);
  headers.append("via", `${httpVersion} ${VIA}`);
  return headers;
}

/** The headers of the API's answer as a caller gets them: in raw case and order, without those of the connection. */
export function answerFields({ rawHeaders, httpVersion }: IncomingMessage): HeaderField[] {
  return [...endToEnd(rawHeaders), ["Via", `${httpVersion} ${VIA}`]];
}

/** Raw headers, names and values in turn, without those of the connection (RFC 9110 §7.6.1). */
export function endToEnd(rawHeaders: readonly string[]): HeaderField[] {
  const fields = fieldsOf(rawHeaders);
  const connection = fields.filter(([name]) => name.length === 10 && name.toLowerCase() === "connection");
  const named = namedByConnection(connection.map(([, value]) => value).join(","));
  return fields.filter(([given]) => {
    const name = given.toLowerCase();
    return !isHopByHop(name) && !named.has(name);
  });
}

/** Trailers that would change how a message is read, or who sent it (RFC 9110 §6.5.1). */
const NOT_IN_TRAILERS = /^(?:content-|host$|authorization$|expect$|set-cookie$|cookie$|x-forward)/;

/** The trailers of a message that has ended, which may be passed on. */
export function trailersOf({ rawTrailers }: IncomingMessage): [string, string][] {
  return endToEnd(rawTrailers)
    .filter(([name]) => !NOT_IN_TRAILERS.test(name.toLowerCase()))
    .map(([name, value]) => [name, value]);
}

function fieldsOf(raw: readonly string[]): HeaderField[] {
  const fields: HeaderField[] = [];
  for (let i = 0; i < raw.length; i += 2) fields.push([raw[i] ?? "", raw[i + 1] ?? ""]);
  return fields;
}
