import { type NameValue, nameValue, splitField, trimField } from "../../wire/request.ts";

/** The preferences in `Prefer` that this server supports (RFC 7240). */
export interface Preferences {
  /** `respond-async` was sent. */
  readonly respondAsync: boolean;
  /** `wait=N` in seconds; Infinity for a bare `wait`; undefined if absent or malformed. */
  readonly wait: number | undefined;
  /** The `wait` preference as it was sent, for Preference-Applied. */
  readonly waitAsSent: string | undefined;
}

const NONE: Preferences = { respondAsync: false, wait: undefined, waitAsSent: undefined };
/** The most frequent value of the header. */
const ASYNC_HEADER = "respond-async";
const ASYNC: Preferences = { ...NONE, respondAsync: true };

/**
 * Reads a Prefer header; several must be joined with commas. Names are case-insensitive, the first instance of a preference
 * wins, and unknown or malformed ones are ignored: a preference is never an error (RFC 7240 §2).
 */
export function parsePrefer(header: string | undefined): Preferences {
  if (!header) return NONE;
  if (header === ASYNC_HEADER) return ASYNC;
  const seen = new Map<string, string>();
  for (const element of splitField(header, ",")) {
    const preference = readPreference(element);
    if (preference && !seen.has(preference.name)) seen.set(preference.name, preference.value);
  }
  const value = seen.get("wait");
  // An empty value is the same as none (§2).
  const wait = value === undefined ? undefined : value === "" ? Number.POSITIVE_INFINITY : seconds(value);
  const asSent = wait === undefined ? undefined : value === "" ? "wait" : `wait=${value}`;
  // With a value, such as `respond-async=no`, it is a different, unknown preference.
  return { respondAsync: seen.get("respond-async") === "", wait, waitAsSent: asSent };
}

/** One preference: `token [ BWS "=" BWS word ] *( OWS ";" [ OWS parameter ] )`. Its parameters are only validated. */
function readPreference(element: string): NameValue | undefined {
  const [first = "", ...parameters] = splitField(element, ";");
  const wellFormed = parameters.every((part) => trimField(part) === "" || nameValue(part) !== undefined);
  return wellFormed ? nameValue(first) : undefined;
}

/** delta-seconds of RFC 9110 §10.2.3: digits only. */
function seconds(value: string): number | undefined {
  return /^\d+$/.test(value) ? Number(value) : undefined;
}
