import { DURATION_FORM, parseDuration } from "./duration.ts";
import { StartError } from "./errors.ts";
import { LOG_LEVELS, type LogLevel } from "./log.ts";

export const ROLES = ["all", "api", "worker"] as const;
export type ServerRole = (typeof ROLES)[number];
export const STORES = ["external", "native", "embedded"] as const;
export type StoreKind = (typeof STORES)[number];
export const DURABILITIES = ["memory", "fsync", "replica"] as const;
export type Durability = (typeof DURABILITIES)[number];

/** Everything the environment decides, read once and checked. Durations are milliseconds, sizes bytes. */
export interface Config {
  readonly redisUrl: string | undefined;
  /** Undefined: the first that is there, in the order external, native, embedded. */
  readonly store: StoreKind | undefined;
  /** Where the native store keeps its data. */
  readonly dataDir: string;
  readonly keyPrefix: string;
  readonly partitions: number;
  readonly host: string;
  /** Undefined for a worker without PORT, which does not listen. */
  readonly port: number | undefined;
  readonly role: ServerRole;
  readonly handlersDir: string | undefined;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly attempts: number;
  readonly resultTtlMs: number;
  readonly tombstoneTtlMs: number;
  readonly deadTtlMs: number;
  readonly syncLimitMs: number;
  readonly maxBodyBytes: number;
  readonly maxResultBytes: number;
  readonly maxWaiting: number;
  readonly pendingStatus: 404 | 202;
  readonly durability: Durability;
  readonly trustProxy: boolean;
  /** Hosts, addresses and CIDRs that may be fetched though they are not public. */
  readonly fetchAllow: readonly string[];
  readonly logLevel: LogLevel;
  readonly drainTimeoutMs: number;
}

/** One variable: how it is read, and its default as it stands in `.env.example`. */
interface Variable<T> {
  readonly fallback: string;
  /** Ends "expected …" of the error. */
  readonly expected: string;
  read(value: string): T | undefined;
}

/** setTimeout takes 32 bits of milliseconds, 24.8 days, and fires at once for more. */
const LONGEST_TIMER = "24d";
/** Far enough away that no sum of times leaves the whole numbers that Redis and JavaScript share. */
const LONGEST_TTL = "3650d";

const duration = (fallback: string, min: string, max: string): Variable<number> => ({
  fallback,
  expected: `${DURATION_FORM}, at least ${min} and at most ${max}`,
  read(value) {
    const ms = parseDuration(value);
    return ms !== undefined && ms >= Number(parseDuration(min)) && ms <= Number(parseDuration(max)) ? ms : undefined;
  },
});

const whole = (fallback: string, min: number, max: number): Variable<number> => ({
  fallback,
  expected: `a whole number from ${min} to ${max}`,
  read: (value) => (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined),
});

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

const size = (fallback: string): Variable<number> => ({
  fallback,
  expected: "a size in bytes, or with a unit: 64kb, 1mb; at most 512mb",
  read(value) {
    const match = /^(\d+)\s*(?:([kmg])i?)?b?$/i.exec(value);
    const bytes = match ? Number(match[1]) * (SIZE_UNITS[(match[2] ?? "").toLowerCase()] ?? 1) : Number.NaN;
    return bytes >= 1 && bytes <= 512 * 1024 ** 2 ? bytes : undefined;
  },
});

const oneOf = <T extends string>(fallback: string, values: readonly T[]): Variable<T> => ({
  fallback,
  expected: `one of ${values.join(", ")}`,
  read: (value) => values.find((v) => v === value),
});

const flag = (fallback: string): Variable<boolean> => ({
  fallback,
  expected: "true or false",
  read: (value) => (/^(?:true|1)$/i.test(value) ? true : /^(?:false|0)$/i.test(value) ? false : undefined),
});

const text = (fallback: string, form: RegExp, expected: string): Variable<string> => ({
  fallback,
  expected,
  read: (value) => (form.test(value) ? value : undefined),
});

/** Undefined for an address without a host: the client library would take it for localhost without a word. */
const redisUrl = (expected: string): Variable<string> => ({
  fallback: "",
  expected,
  read: (value) =>
    /^rediss?:\/\/\S+$/.test(value) && URL.canParse(value) && new URL(value).hostname !== "" ? value : undefined,
});

const list = (fallback: string, form: RegExp, expected: string): Variable<readonly string[]> => ({
  fallback,
  expected,
  read(value) {
    const items = value.split(",").map((item) => item.trim());
    return items.every((item) => form.test(item)) ? items : undefined;
  },
});

/** Every variable that the server reads. An empty default means: unset. */
export const VARIABLES = {
  REDIS_URL: redisUrl("redis://host:port or rediss://host:port"),
  STORE: oneOf("", STORES),
  DATA_DIR: text(".paihao", /\S/, "a directory"),
  KEY_PREFIX: text("ph", /^[A-Za-z0-9._-]{1,64}$/, "1–64 characters of A–Z a–z 0–9 . _ -"),
  PARTITIONS: whole("1", 1, 1024),
  HOST: text("127.0.0.1", /^\S+$/, "an address or host name"),
  PORT: whole("3000", 0, 65_535),
  ROLE: oneOf("all", ROLES),
  HANDLERS: text("", /\S/, "a directory of handler files"),
  CONCURRENCY: whole("8", 1, 10_000),
  LEASE: duration("15s", "1s", LONGEST_TIMER),
  ATTEMPTS: whole("3", 1, 1_000_000),
  RESULT_TTL: duration("1h", "1ms", LONGEST_TTL),
  TOMBSTONE_TTL: duration("24h", "0s", LONGEST_TTL),
  DEAD_TTL: duration("7d", "1ms", LONGEST_TTL),
  SYNC_LIMIT: duration("25s", "1ms", LONGEST_TIMER),
  MAX_BODY: size("1mb"),
  MAX_RESULT: size("16mb"),
  MAX_WAITING: whole("1000000", 1, 100_000_000),
  PENDING_STATUS: oneOf("404", ["404", "202"] as const),
  DURABILITY: oneOf("memory", DURABILITIES),
  TRUST_PROXY: flag("false"),
  FETCH_ALLOW: list("", /^[A-Za-z0-9.:_/-]+$/, "hosts, addresses or CIDRs with commas between"),
  LOG_LEVEL: oneOf("info", LOG_LEVELS),
  DRAIN_TIMEOUT: duration("20s", "0s", LONGEST_TIMER),
} as const;

type Values = {
  [K in keyof typeof VARIABLES]: (typeof VARIABLES)[K] extends Variable<infer T> ? T | undefined : never;
};

/**
 * Reads the environment.
 * @param overrides values that win over the environment, e.g. those of command-line options
 * @throws StartError that names the variable, its value and what was expected
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  overrides: Readonly<Record<string, string | undefined>> = {},
): Config {
  const given = (name: string): string => (overrides[name] ?? env[name] ?? "").trim();
  const values = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, variable]) => {
      const value = given(name) || variable.fallback;
      if (value === "") return [name, undefined];
      const read = variable.read(value);
      // A URL may hold a password: it is not repeated.
      const shown = name === "REDIS_URL" ? "the value given" : JSON.stringify(value);
      if (read === undefined) throw new StartError(`${name} is ${shown}, expected ${variable.expected}`);
      return [name, read];
    }),
  ) as Values;
  const required = <K extends keyof Values>(name: K): NonNullable<Values[K]> => {
    const value = values[name];
    if (value === undefined || value === null)
      throw new StartError(`${name} is not set, expected ${VARIABLES[name].expected}`);
    return value;
  };

  const role = required("ROLE");
  if (values.STORE === "external" && values.REDIS_URL === undefined) {
    throw new StartError("STORE is external but REDIS_URL is not set, expected redis://host:port");
  }
  if (role !== "all" && values.REDIS_URL === undefined) {
    throw new StartError(
      `ROLE is ${role} but REDIS_URL is not set: processes of different roles meet in one Redis, expected redis://host:port`,
    );
  }
  if (values.STORE !== undefined && values.STORE !== "external" && role !== "all") {
    throw new StartError(
      `STORE is ${values.STORE}, expected external with ROLE ${role}: a child store serves one process`,
    );
  }
  return {
    redisUrl: values.REDIS_URL,
    store: values.STORE,
    dataDir: required("DATA_DIR"),
    keyPrefix: required("KEY_PREFIX"),
    partitions: required("PARTITIONS"),
    host: required("HOST"),
    port: role === "worker" && given("PORT") === "" ? undefined : required("PORT"),
    role,
    handlersDir: values.HANDLERS,
    concurrency: required("CONCURRENCY"),
    leaseMs: required("LEASE"),
    attempts: required("ATTEMPTS"),
    resultTtlMs: required("RESULT_TTL"),
    tombstoneTtlMs: required("TOMBSTONE_TTL"),
    deadTtlMs: required("DEAD_TTL"),
    syncLimitMs: required("SYNC_LIMIT"),
    maxBodyBytes: required("MAX_BODY"),
    maxResultBytes: required("MAX_RESULT"),
    maxWaiting: required("MAX_WAITING"),
    pendingStatus: required("PENDING_STATUS") === "202" ? 202 : 404,
    durability: required("DURABILITY"),
    trustProxy: required("TRUST_PROXY"),
    fetchAllow: values.FETCH_ALLOW ?? [],
    logLevel: required("LOG_LEVEL"),
    drainTimeoutMs: required("DRAIN_TIMEOUT"),
  };
}
