import { isHopByHop, namedByConnection } from "../../handler/result-headers.ts";

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
