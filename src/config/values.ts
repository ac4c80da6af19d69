import { StartError } from "../errors.ts";
import { type AllowList, parseAllowList } from "../net/ssrf-guard.ts";
import { durationWithin, parseDuration } from "./duration.ts";
import { parseRedisUrl, REDIS_URL_FORMS } from "./redis-url.ts";

/** One environment variable: how it is read, and its default. */
export interface Variable<T, Unset = T> {
  /** The text of the default, empty if there is none. */
  readonly fallback: string;
  /** The value if it is not set: the default, or what stands for "none". */
  readonly unset: Unset;
  /** Ends "expected …" of the error. */
  readonly expected: string;
  /** The value is never repeated in an error or logged. */
  readonly secret?: true;
  /** Undefined for an invalid value. @throws StartError if it can say which part is wrong, and why */
  read(value: string): T | undefined;
}

/** A variable with a default. */
function defaulting<T>(fallback: string, expected: string, read: (value: string) => T | undefined): Variable<T> {
  const unset = read(fallback);
  if (unset === undefined) throw new Error(`the default ${fallback} is not ${expected}`);
  return { fallback, unset, expected, read };
}

/** Milliseconds. */
export const duration = (fallback: string, minMs: number, maxMs: number): Variable<number> =>
  defaulting(fallback, durationWithin(minMs, maxMs), (value) => {
    const ms = parseDuration(value);
    return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
  });

export const whole = (fallback: number, min: number, max: number): Variable<number> =>
  defaulting(String(fallback), `a whole number from ${min} to ${max}`, (value) =>
    /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined,
  );

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** Bytes. */
export const size = (fallback: string): Variable<number> =>
  defaulting(fallback, "a size in bytes, or with a unit: 64kb, 1mb; at most 512mb", (value) => {
    const match = /^(\d+)\s*(?:([kmg])i?)?b?$/i.exec(value);
    const bytes = match ? Number(match[1]) * (SIZE_UNITS[(match[2] ?? "").toLowerCase()] ?? 1) : Number.NaN;
    return bytes >= 1 && bytes <= 512 * 1024 ** 2 ? bytes : undefined;
  });

export const oneOf = <T extends string, const F extends T | "">(
  fallback: F,
  values: readonly T[],
): Variable<T, Unset<F, T>> => ({
  fallback,
  unset: values.find((v) => v === fallback) as Unset<F, T>,
  expected: `one of ${values.join(", ")}`,
  read: (value) => values.find((v) => v === value),
});

export const numberOf = <const T extends number>(fallback: T, values: readonly T[]): Variable<T> =>
  defaulting(String(fallback), `one of ${values.join(", ")}`, (value) => values.find((v) => String(v) === value));

export const flag = (fallback: boolean): Variable<boolean> =>
  defaulting(String(fallback), "true or false", (value) =>
    /^(?:true|1)$/i.test(value) ? true : /^(?:false|0)$/i.test(value) ? false : undefined,
  );

export const text = <const F extends string>(
  fallback: F,
  form: RegExp,
  expected: string,
): Variable<string, Unset<F, string>> => ({
  fallback,
  unset: (fallback || undefined) as Unset<F, string>,
  expected,
  read: (value) => (form.test(value) ? value : undefined),
});

/** The value of a variable with this default if it is not set. */
type Unset<Fallback extends string, T> = Fallback extends "" ? undefined : T;

/** One of the forms of {@link REDIS_URL_FORMS}. */
export const redisUrl = (): Variable<string, undefined> => ({
  fallback: "",
  unset: undefined,
  expected: REDIS_URL_FORMS,
  // It may contain a password.
  secret: true,
  read(value) {
    parseRedisUrl(value);
    return value;
  },
});

/** The comma-separated items of a value, trimmed. */
const itemsOf = (value: string): string[] => value.split(",").map((item) => item.trim());

/** Rules for a list as a whole. */
interface ListOptions<T> {
  readonly max?: number;
  readonly secret?: true;
  /** @throws StartError if the items contradict each other */
  check?(items: readonly T[]): void;
}

/** Comma-separated items, each read by `read`, which throws a StartError for an invalid one. */
export const listOf = <T>(
  expected: string,
  read: (item: string) => T,
  { max = Number.POSITIVE_INFINITY, secret, check }: ListOptions<T> = {},
): Variable<readonly T[]> => ({
  fallback: "",
  unset: [],
  expected,
  ...(secret ? { secret } : {}),
  read(value) {
    const items = itemsOf(value).map(read);
    check?.(items);
    return items.length <= max ? items : undefined;
  },
});

/** Allows nothing that is not public. */
const NOBODY: AllowList = { hosts: new Set(), ranges: [] };

/** Hosts and addresses that may be contacted although they are not public. */
export const allowList = (): Variable<AllowList> => ({
  fallback: "",
  unset: NOBODY,
  expected: "hosts, addresses or CIDRs, separated by commas",
  read: (value) => parseAllowList(itemsOf(value)),
});

/** A number of requests for each span of time. */
export interface Rate {
  readonly max: number;
  /** Whole seconds: the RateLimit headers have no fractions. */
  readonly perS: number;
}

/** A rate such as `100/1m`. */
export const rate = (): Variable<Rate, undefined> => ({
  fallback: "",
  unset: undefined,
  expected: "a number of requests and a span of whole seconds, such as 100/1m, at most 24h",
  read(value) {
    const [, max, span = ""] = /^(\d{1,9})\s*\/\s*(\S.*)$/.exec(value) ?? [];
    const perS = (parseDuration(span) ?? Number.NaN) / 1000;
    const fits = Number.isInteger(perS) && perS >= 1 && perS <= 86_400 && Number(max) >= 1;
    return fits ? { max: Number(max), perS } : undefined;
  },
});

/** The host of a URL, without its port, as browsers send it: lower-case, IDNs as Punycode, IPv6 in brackets. */
export function readHost(item: string): string {
  const url = `http://${item.includes(":") && !item.startsWith("[") ? `[${item}]` : item}/`;
  const hostname = /^[^\s/?#@*\\]+$/.test(item) && URL.canParse(url) ? new URL(url).hostname : "";
  if (hostname !== "" && new URL(url).port === "") return hostname;
  throw new StartError(`${JSON.stringify(item)} is not a host without a port`);
}

/** An origin as browsers send it (RFC 6454 §6.1), or `*`. */
export function readOrigin(item: string): string {
  const isOrigin = /^[^*]+$/.test(item) && URL.canParse(item) && new URL(item).origin === item;
  if (isOrigin || item === "*") return item;
  throw new StartError(`${JSON.stringify(item)} is not an origin`);
}

/** A secret of Standard Webhooks 1.0: `whsec_` and the base64 of 24 to 64 bytes. Never repeated in the error. */
export function readWebhookSecret(item: string): string {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(item)?.[1] ?? "";
  const bytes = Buffer.from(base64, "base64");
  const canonical = bytes.toString("base64").split("=", 1)[0] === base64.split("=", 1)[0];
  if (canonical && bytes.length >= 24 && bytes.length <= 64) return item;
  throw new StartError("one of the secrets does not have this form");
}
