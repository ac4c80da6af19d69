/** What stands in the place of a secret. */
const MASK = "***";
/** A shorter one would be found in ordinary words. */
const LEAST_SECRET = 6;

/** Secrets by their form, each with what stays of it. */
const FORMS: readonly (readonly [form: RegExp, kept: string])[] = [
  // The password of a URL; what is in front of it names the account.
  [/(\b[a-z][a-z0-9+.-]*:\/\/[^\s/?#@"\\]*:)[^\s/?#@"\\]+@/gi, `$1${MASK}@`],
  [/([?&](?:signature|sig|token|access_token|auth|api[-_]?key|key|password|secret)=)[^&#\s"\\]+/gi, `$1${MASK}`],
  [/\b(bearer|basic)( +)[A-Za-z0-9._~+/-]{6,}=*/gi, `$1$2${MASK}`],
  [/\bwhsec_[A-Za-z0-9+/]+=*/g, `whsec_${MASK}`],
  // API keys, as auth/api-key.ts makes them.
  [/\bph_[A-Za-z0-9_-]{16,}/g, `ph_${MASK}`],
  [
    /("(?:(?:proxy-)?authorization|(?:set-)?cookie|password|secret|x-api-key|api[-_]?key|x-auth-token|webhook-signature)":)(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\])/gi,
    `$1"${MASK}"`,
  ],
];

/** What every one of these forms has; nearly all lines have none of it, and are looked at only once. */
const HINT =
  /:\/\/|[?&][\w-]+=|bearer|basic|whsec_|ph_|authorization"|cookie"|password"|secret"|api[-_]?key"|token"|signature"/i;

/** Makes a function that replaces secrets in a line of JSON: those given, and whatever has the form of one. */
export function redaction(secrets: readonly string[] = []): (line: string) => string {
  const literal = secrets.filter((secret) => secret.length >= LEAST_SECRET);
  // As they are in JSON.
  const known = [...new Set(literal.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  return (line) => {
    let clean = line;
    for (const secret of known) if (clean.includes(secret)) clean = clean.replaceAll(secret, MASK);
    if (!HINT.test(clean)) return clean;
    for (const [form, kept] of FORMS) clean = clean.replace(form, kept);
    return clean;
  };
}
