import { type ApiKey, checkNamesUnique, KEY_FORM, parseApiKey } from "../auth/api-key.ts";
import { messageOf, StartError } from "../errors.ts";
import { LOG_LEVELS, type LogLevel } from "../log.ts";
import type { AllowList } from "../net/ssrf-guard.ts";
import { LONGEST_MS, LONGEST_TIMER_MS } from "./duration.ts";
import { type MisspeltVariable, misspelt } from "./misspelt.ts";
import { OTEL_VARIABLES, type OtelConfig, readOtel } from "./otel.ts";
import {
  allowList,
  duration,
  flag,
  listOf,
  oneOf,
  type Rate,
  rate,
  readHost,
  readOrigin,
  readWebhookSecret,
  redisUrl,
  size,
  text,
  type Variable,
  whole,
} from "./values.ts";

const ROLES = ["all", "api", "worker"] as const;
export type ServerRole = (typeof ROLES)[number];
export const STORES = ["external", "native", "embedded"] as const;
export type StoreKind = (typeof STORES)[number];
const DURABILITIES = ["memory", "fsync", "replica", "replicas"] as const;
export type Durability = (typeof DURABILITIES)[number];

/** The hosts that requests may name. */
export interface ServedHosts {
  /** Lower-case, without ports. */
  readonly names: readonly string[];
  /** Whether any IP address is served as well. */
  readonly addresses: boolean;
  /** Whether health and readiness are also answered for any other host. */
  readonly probes: boolean;
}

/** All settings, read once and checked. Sizes are in bytes. */
export interface Config {
  readonly redisUrl: string | undefined;
  /** Undefined: the first available of external, native, embedded. */
  readonly store: StoreKind | undefined;
  /** Where the native store keeps its data. */
  readonly dataDir: string;
  readonly keyPrefix: string;
  readonly partitions: number;
  readonly host: string;
  /** Undefined: all hosts. */
  readonly servedHosts: ServedHosts | undefined;
  /** Undefined for a worker without PORT, which does not listen. */
  readonly port: number | undefined;
  readonly role: ServerRole;
  /** Number of processes that answer requests; ignored by a worker. */
  readonly webConcurrency: number;
  readonly handlersDir: string | undefined;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly attempts: number;
  readonly resultTtlMs: number;
  readonly tombstoneTtlMs: number;
  /** Short results leave the store at RESULT_TTL also where it cannot expire a field of a hash. */
  readonly strictResultTtl: boolean;
  readonly deadTtlMs: number;
  readonly syncLimitMs: number;
  readonly maxBodyBytes: number;
  readonly maxResultBytes: number;
  readonly maxOutputBytes: number;
  readonly maxWaiting: number;
  /** Most connections of one process. */
  readonly maxConnections: number;
  /** Most event streams and long polls of one caller in one process. */
  readonly maxStreams: number;
  readonly pendingStatus: 404 | 202;
  /** Serves the dialect of Replicate's API below /replicate. */
  readonly replicate: boolean;
  readonly durability: Durability;
  /** The keys in the environment itself. */
  readonly apiKeys: readonly ApiKey[];
  /** A file with more keys. */
  readonly apiKeysFile: string | undefined;
  /** If set, links to tasks are signed, and can be read without a key. */
  readonly urlSigningKey: string | undefined;
  readonly urlTtlMs: number;
  /** Undefined: no limit. */
  readonly rateLimit: Rate | undefined;
  /** Origins of web pages that may read responses, or `*`. */
  readonly corsOrigins: readonly string[];
  /** Origins of web pages that may show a task in a frame, or `*`. */
  readonly embedOrigins: readonly string[];
  readonly trustProxy: boolean;
  /** Secrets of Standard Webhooks, the newest first. */
  readonly webhookSecrets: readonly string[];
  /** Webhook receivers that are allowed although they are not public or use plain http. */
  readonly webhookAllow: AllowList;
  /** Hosts that handlers may fetch from although they are not public. */
  readonly fetchAllow: AllowList;
  readonly logLevel: LogLevel;
  readonly drainTimeoutMs: number;
  /** What is sent to a collector of OpenTelemetry; undefined: nothing. */
  readonly otel: OtelConfig | undefined;
}

/** Every variable that the server reads. An empty default means that it is unset. */
export const VARIABLES = {
  REDIS_URL: redisUrl(),
  STORE: oneOf("", STORES),
  DATA_DIR: text(".paihao", /\S/, "a directory"),
  KEY_PREFIX: text("ph", /^[A-Za-z0-9._-]{1,64}$/, "1–64 characters of A–Z a–z 0–9 . _ -"),
  PARTITIONS: whole(1, 1, 1024),
  HOST: text("127.0.0.1", /^\S+$/, "an address or host name"),
  PORT: whole(3000, 0, 65_535),
  ROLE: oneOf("all", ROLES),
  WEB_CONCURRENCY: whole(1, 1, 64),
  HANDLERS: text("", /\S/, "a directory of handler files"),
  CONCURRENCY: whole(8, 1, 10_000),
  LEASE: duration("15s", 1000, LONGEST_TIMER_MS),
  ATTEMPTS: whole(3, 1, 1_000_000),
  RESULT_TTL: duration("1h", 1, LONGEST_MS),
  TOMBSTONE_TTL: duration("24h", 0, LONGEST_MS),
  STRICT_RESULT_TTL: flag(false),
  DEAD_TTL: duration("7d", 1, LONGEST_MS),
  SYNC_LIMIT: duration("25s", 1, LONGEST_TIMER_MS),
  MAX_BODY: size("1mb"),
  MAX_RESULT: size("16mb"),
  MAX_OUTPUT: size("1mb"),
  MAX_WAITING: whole(1_000_000, 1, 100_000_000),
  MAX_CONNECTIONS: whole(10_000, 1, 1_000_000),
  MAX_STREAMS: whole(1000, 1, 1_000_000),
  PENDING_STATUS: oneOf("404", ["404", "202"] as const),
  REPLICATE: flag(false),
  DURABILITY: oneOf("memory", DURABILITIES),
  AUTH: oneOf("", ["none"] as const),
  API_KEYS: listOf(`${KEY_FORM}, separated by commas`, parseApiKey, {
    secret: true,
    check: checkNamesUnique,
  }),
  API_KEYS_FILE: text("", /\S/, `a file with a line ${KEY_FORM} for each key`),
  URL_SIGNING_KEY: { ...text("", /^\S.{14,}\S$/, "a secret of at least 16 characters"), secret: true },
  URL_TTL: duration("24h", 1000, LONGEST_MS),
  RATE_LIMIT: rate(),
  ALLOWED_HOSTS: listOf("host names or addresses without ports, separated by commas", readHost),
  CORS_ORIGINS: listOf("* or origins such as https://app.example, separated by commas", readOrigin),
  EMBED_ORIGINS: listOf("* or origins such as https://app.example, separated by commas", readOrigin),
  TRUST_PROXY: flag(false),
  WEBHOOK_SECRET: listOf(
    "whsec_ and the base64 of 24 to 64 bytes, or two of them separated by a comma",
    readWebhookSecret,
    {
      most: 2,
      secret: true,
    },
  ),
  WEBHOOK_ALLOW: allowList(),
  FETCH_ALLOW: allowList(),
  LOG_LEVEL: oneOf("info", LOG_LEVELS),
  DRAIN_TIMEOUT: duration("20s", 0, LONGEST_TIMER_MS),
  ...OTEL_VARIABLES,
} as const;

type Values = {
  [K in keyof typeof VARIABLES]: (typeof VARIABLES)[K] extends Variable<infer T> ? T | undefined : never;
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Allows nothing that is not public. */
const NOBODY: AllowList = { hosts: new Set(), ranges: [] };

/** Addresses on which the server starts without keys, although then everyone who can connect may do everything. */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/i;

/**
 * Without keys a request must name this server: otherwise a web page could reach it under a name of its own (DNS rebinding). With
 * keys, which such a page does not have, names are checked only if ALLOWED_HOSTS is set.
 */
function servedHosts(host: string, allowed: readonly string[], open: boolean): ServedHosts | undefined {
  if (!open && allowed.length === 0) return undefined;
  const local = open && LOOPBACK.test(host);
  const own = host.includes(":") ? `[${host}]` : host;
  const names = ["localhost", "127.0.0.1", "[::1]", own, ...allowed].map((name) => name.toLowerCase());
  // Callers and probes in a network use addresses, which the server cannot know. An address is not a name, so it cannot be rebound.
  return { names, addresses: open && !local, probes: !local };
}

/** The value of one variable; undefined if it is not set and has no default. @throws StartError */
function readVariable<T>(name: string, variable: Variable<T>, given: string | undefined): T | undefined {
  const value = (given ?? "").trim() || variable.fallback;
  if (value === "") return undefined;
  const shown = variable.secret ? "the value given" : JSON.stringify(value);
  const refusal = `${name} is ${shown}, expected ${variable.expected}`;
  let read: T | undefined;
  try {
    read = variable.read(value);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    throw new StartError(`${refusal}: ${messageOf(error)}`);
  }
  if (read === undefined) throw new StartError(refusal);
  return read;
}

/** Only FETCH_ALLOW, for the handler that fetches: an error in another variable must not affect it. */
export function readFetchAllow(env: Environment = process.env): AllowList {
  return readVariable("FETCH_ALLOW", VARIABLES.FETCH_ALLOW, env.FETCH_ALLOW) ?? NOBODY;
}

/** The variables that look like those of the server, and that it does not read. */
export function misspeltVariables(env: Environment = process.env): MisspeltVariable[] {
  return misspelt(Object.keys(env), Object.keys(VARIABLES));
}

/** Only the API keys and their file, for the commands that manage them. */
export function readKeySources(env: Environment = process.env): Pick<Config, "apiKeys" | "apiKeysFile"> {
  return {
    apiKeys: readVariable("API_KEYS", VARIABLES.API_KEYS, env.API_KEYS) ?? [],
    apiKeysFile: readVariable("API_KEYS_FILE", VARIABLES.API_KEYS_FILE, env.API_KEYS_FILE),
  };
}

/**
 * Reads the environment.
 * @param overrides values that win over the environment, e.g. those of command-line options
 * @throws StartError that names the variable, its value and what was expected
 */
export function readConfig(env: Environment = process.env, overrides: Environment = {}): Config {
  const given = (name: string): string => (overrides[name] ?? env[name] ?? "").trim();
  const values = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, variable]) => [name, readVariable<unknown>(name, variable, given(name))]),
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
      `ROLE is ${role} but REDIS_URL is not set: processes of different roles share one Redis, expected redis://host:port`,
    );
  }
  if (values.STORE !== undefined && values.STORE !== "external" && role !== "all") {
    throw new StartError(
      `STORE is ${values.STORE}, expected external with ROLE ${role}: a child store serves only its own process`,
    );
  }
  const port = role === "worker" && given("PORT") === "" ? undefined : required("PORT");
  const host = required("HOST");
  const apiKeys = values.API_KEYS ?? [];
  const guarded = apiKeys.length > 0 || values.API_KEYS_FILE !== undefined;
  if (port !== undefined && !LOOPBACK.test(host) && !guarded && values.AUTH !== "none") {
    throw new StartError(
      `HOST is ${JSON.stringify(host)} but there are no API_KEYS: anyone who can reach it could do anything; set API_KEYS or API_KEYS_FILE, use a loopback address, or set AUTH=none if that is intended`,
    );
  }
  return {
    redisUrl: values.REDIS_URL,
    store: values.STORE,
    dataDir: required("DATA_DIR"),
    keyPrefix: required("KEY_PREFIX"),
    partitions: required("PARTITIONS"),
    host,
    servedHosts: servedHosts(host, values.ALLOWED_HOSTS ?? [], !guarded),
    port,
    role,
    webConcurrency: required("WEB_CONCURRENCY"),
    handlersDir: values.HANDLERS,
    concurrency: required("CONCURRENCY"),
    leaseMs: required("LEASE"),
    attempts: required("ATTEMPTS"),
    resultTtlMs: required("RESULT_TTL"),
    tombstoneTtlMs: required("TOMBSTONE_TTL"),
    strictResultTtl: required("STRICT_RESULT_TTL"),
    deadTtlMs: required("DEAD_TTL"),
    syncLimitMs: required("SYNC_LIMIT"),
    maxBodyBytes: required("MAX_BODY"),
    maxResultBytes: required("MAX_RESULT"),
    maxOutputBytes: required("MAX_OUTPUT"),
    maxWaiting: required("MAX_WAITING"),
    maxConnections: required("MAX_CONNECTIONS"),
    maxStreams: required("MAX_STREAMS"),
    pendingStatus: required("PENDING_STATUS") === "202" ? 202 : 404,
    replicate: required("REPLICATE"),
    durability: required("DURABILITY"),
    apiKeys,
    apiKeysFile: values.API_KEYS_FILE,
    urlSigningKey: values.URL_SIGNING_KEY,
    urlTtlMs: required("URL_TTL"),
    rateLimit: values.RATE_LIMIT,
    corsOrigins: values.CORS_ORIGINS ?? [],
    embedOrigins: values.EMBED_ORIGINS ?? [],
    trustProxy: required("TRUST_PROXY"),
    webhookSecrets: values.WEBHOOK_SECRET ?? [],
    webhookAllow: values.WEBHOOK_ALLOW ?? NOBODY,
    fetchAllow: values.FETCH_ALLOW ?? NOBODY,
    logLevel: required("LOG_LEVEL"),
    drainTimeoutMs: required("DRAIN_TIMEOUT"),
    otel: readOtel(values),
  };
}
