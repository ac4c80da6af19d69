/** What `Prefer` asks for, as far as this server knows it (RFC 7240). */
export interface Preferences {
  /** `respond-async` was sent. */
  readonly respondAsync: boolean;
  /** `wait=N` in seconds; Infinity for a bare `wait`; undefined when absent or malformed. */
  readonly wait: number | undefined;
  /** The `wait` preference as it was sent, for Preference-Applied. */
  readonly waitAsSent: string | undefined;
}

/** A preference: token, optional value (token or quoted string), parameters that are skipped. RFC 7240 §2, RFC 9110 §5.6. */
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
const WORD = `(?:${TOKEN}|${QUOTED})`;
const PREFERENCE = new RegExp(
  `^(${TOKEN})(?:\\s*=\\s*(${WORD})?)?\\s*(?:;\\s*(?:${TOKEN}(?:\\s*=\\s*${WORD}?)?)?\\s*)*$`,
);
/** Commas between preferences, but not those within quoted strings. */
const ELEMENTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;

const NONE: Preferences = { respondAsync: false, wait: undefined, waitAsSent: undefined };

/**
 * Reads a Prefer header (several are joined with commas before). Names are case-insensitive, the first instance of one wins,
 * and what is unknown or malformed is passed over, as RFC 7240 §2 wants: a preference is never an error.
 */
export function parsePrefer(header: string | undefined): Preferences {
  if (!header) return NONE;
  const seen = new Map<string, string>();
  for (const element of header.match(ELEMENTS) ?? []) {
    const match = PREFERENCE.exec(element.trim());
    const name = match?.[1]?.toLowerCase();
    // An empty value is the same as none (§2).
    if (name !== undefined && !seen.has(name)) seen.set(name, unquote(match?.[2] ?? ""));
  }
  const value = seen.get("wait");
  const wait = value === undefined ? undefined : value === "" ? Number.POSITIVE_INFINITY : seconds(value);
  const asSent = wait === undefined ? undefined : value === "" ? "wait" : `wait=${value}`;
  // A value makes another preference of it: `respond-async=no` is none that is known.
  return { respondAsync: seen.get("respond-async") === "", wait, waitAsSent: asSent };
}

/** delta-seconds of RFC 9110 §10.2.3: digits only. */
function seconds(value: string): number | undefined {
  return /^\d+$/.test(value) ? Number(value) : undefined;
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
}
