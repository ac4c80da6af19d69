import { type NameValue, nameValue, splitField, trimField } from "./fields.ts";

/** What `Prefer` asks for, as far as this server knows it (RFC 7240). */
export interface Preferences {
  /** `respond-async` was sent. */
  readonly respondAsync: boolean;
  /** `wait=N` in seconds; Infinity for a bare `wait`; undefined when absent or malformed. */
  readonly wait: number | undefined;
  /** The `wait` preference as it was sent, for Preference-Applied. */
  readonly waitAsSent: string | undefined;
}

const NONE: Preferences = { respondAsync: false, wait: undefined, waitAsSent: undefined };
/** What is sent most. */
const ASYNC_HEADER = "respond-async";
const ASYNC: Preferences = { ...NONE, respondAsync: true };

/**
 * Reads a Prefer header (several are joined with commas before). Names are case-insensitive, the first instance of one wins,
 * and what is unknown or malformed is passed over, as RFC 7240 §2 wants: a preference is never an error.
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
  // A value makes another preference of it: `respond-async=no` is none that is known.
  return { respondAsync: seen.get("respond-async") === "", wait, waitAsSent: asSent };
}

/** One preference: `token [ BWS "=" BWS word ] *( OWS ";" [ OWS parameter ] )`. Its parameters are only checked. */
function readPreference(element: string): NameValue | undefined {
  const [first = "", ...parameters] = splitField(element, ";");
  const wellFormed = parameters.every((part) => trimField(part) === "" || nameValue(part) !== undefined);
  return wellFormed ? nameValue(first) : undefined;
}

/** delta-seconds of RFC 9110 §10.2.3: digits only. */
function seconds(value: string): number | undefined {
  return /^\d+$/.test(value) ? Number(value) : undefined;
}
