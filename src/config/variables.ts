import { checkNamesUnique, KEY_FORM, parseApiKey } from "../auth/api-key.ts";
import { LOG_LEVELS } from "../log.ts";
import { LONGEST_MS, LONGEST_TIMER_MS } from "./duration.ts";
import {
  allowList,
  duration,
  flag,
  listOf,
  numberOf,
  oneOf,
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

const STORE = {
  REDIS_URL: {
    as: "redisUrl",
    about:
      "URL of your Redis: redis://[user:password@]host:port[/db] (special characters of a password percent-encoded: @ as %40, / as %2F), redis+cluster://host:port,host:port for a Redis Cluster, redis+sentinel://host:port,host:port/master[/db] for sentinels; rediss instead of redis for TLS; unix://[user:password@]/path[?db=N] for a Unix socket. After ?: db=N; with TLS: ca=FILE, cert=FILE&key=FILE (PEM); with sentinels: sentinel_password=…, sentinel_username=….",
    ...redisUrl(),
  },
  STORE: {
    as: "store",
    about:
      "Kind of store: external, native or embedded. Not set: external if REDIS_URL is set, else native if redis-server or valkey-server is on PATH, else embedded, which keeps its data in memory only.",
    ...oneOf("", STORES),
  },
  DATA_DIR: {
    as: "dataDir",
    about: "Data directory of the native store. Its socket is in a separate directory below TMPDIR, else /tmp.",
    ...text(".paihao", /\S/, "a directory"),
  },
  KEY_PREFIX: {
    as: "keyPrefix",
    about: "Prefix of every key, so that several deployments can share a Redis.",
    ...text("ph", /^[A-Za-z0-9._-]{1,64}$/, "1–64 characters of A–Z a–z 0–9 . _ -"),
  },
  PARTITIONS: {
    as: "partitions",
    about:
      "Number of partitions, 1–1024. Written to Redis at the first start; a process with another number does not start.",
    ...whole(1, 1, 1024),
  },
  DURABILITY: {
    as: "durability",
    about:
      'What "accepted" means: memory (Redis has it), fsync (on its disk; Redis 7.2 or later), replica (a replica has it), replicas (all connected replicas have it).',
    ...oneOf("memory", DURABILITIES),
  },
} as const;

const PROCESS = {
  HOST: {
    as: "host",
    about: "Address to listen on.",
    ...text("127.0.0.1", /^\S+$/, "an address or host name"),
  },
  PORT: {
    as: "port",
    about:
      "Port to listen on; 0 takes a free one. A process with ROLE worker listens (health, metrics) only if PORT is set.",
    ...whole(3000, 0, 65_535),
  },
  ROLE: {
    as: "role",
    about: "What this process does: all, api or worker. api and worker need REDIS_URL, since they share a Redis.",
    ...oneOf("all", ROLES),
  },
  WEB_CONCURRENCY: {
    as: "webConcurrency",
    about: "Number of API processes on one port, 1–64. Above 1 and with ROLE all, one more process runs the tasks.",
    ...whole(1, 1, 64),
  },
  HANDLERS: {
    as: "handlersDir",
    about: "Directory of handler files (.ts, .mts, .js, .mjs). Not set: the handlers that ship with the server.",
    ...text("", /\S/, "a directory of handler files"),
  },
  APP_VERSION: {
    as: "appVersion",
    about:
      "Version of your handlers, shown with workers, events and charts. Not set: that of the package.json nearest to HANDLERS.",
    ...text("", /^[\x21-\x7e]{1,64}$/, "1–64 visible characters"),
  },
  LOG_LEVEL: {
    as: "logLevel",
    about: "Lowest level that is logged: trace, debug, info, warn, error, fatal or silent.",
    ...oneOf("info", LOG_LEVELS),
  },
  SHOW_STACKS: {
    as: "showStacks",
    about:
      "Whether the problem of a failed task has the stack of what its handler threw, as under `paihao dev`. It may tell secrets: not for servers that others reach.",
    ...flag(false),
  },
  DRAIN_TIMEOUT: {
    as: "drainTimeoutMs",
    about:
      "At shutdown: how long waiting callers and running tasks have to finish. After that the callers get the current state, and the tasks return to their place in line. If a handler of a queue with undo, keyed or limit.running ignores its signal for that long, its process ends: docs/concepts.md. At most 24d.",
    ...duration("20s", 0, LONGEST_TIMER_MS),
  },
} as const;

const TASKS = {
  CONCURRENCY: {
    as: "concurrency",
    about: "Tasks that a worker process runs at once for each queue; handlers can override it.",
    ...whole(8, 1, 10_000),
  },
  LEASE: {
    as: "leaseMs",
    about: "How long a task stays with a worker that has gone silent, 1s–24d; handlers can override it.",
    ...duration("15s", 1000, LONGEST_TIMER_MS),
  },
  ATTEMPTS: {
    as: "attempts",
    about: "Attempts before a task is dead; handlers can override it.",
    ...whole(3, 1, 1_000_000),
  },
  RESULT_TTL: {
    as: "resultTtlMs",
    about: "How long a result can be collected.",
    ...duration("1h", 1, LONGEST_MS),
  },
  TOMBSTONE_TTL: {
    as: "tombstoneTtlMs",
    about: 'How long after that the answer is "expired" instead of "unknown".',
    ...duration("24h", 0, LONGEST_MS),
  },
  STRICT_RESULT_TTL: {
    as: "strictResultTtl",
    about:
      "Results of up to 256 bytes are kept in the record of their task. Before Redis 7.4 and Valkey 9 they are hidden at RESULT_TTL, but their bytes leave the store only with the record, at the end of TOMBSTONE_TTL. true: every result leaves the store at RESULT_TTL, at the cost of more memory and work per task.",
    ...flag(false),
  },
  DEAD_TTL: {
    as: "deadTtlMs",
    about: "How long a dead task is kept, so that it can be inspected or retried.",
    ...duration("7d", 1, LONGEST_MS),
  },
  MAX_WAITING: {
    as: "maxWaiting",
    about:
      "Maximum number of waiting tasks in a queue, including allocated ids, and of waiting webhook deliveries; beyond it submissions are refused with 503.",
    ...whole(1_000_000, 1, 100_000_000),
  },
} as const;

const HTTP = {
  SYNC_LIMIT: {
    as: "syncLimitMs",
    about: "How long a synchronous request waits for its result before it is answered 504; at most 24d.",
    ...duration("25s", 1, LONGEST_TIMER_MS),
  },
  MAX_BODY: {
    as: "maxBodyBytes",
    about: "Maximum size of the body of a submission; at most 512mb.",
    ...size("1mb"),
  },
  MAX_RESULT: {
    as: "maxResultBytes",
    about:
      "Maximum size of a result, of a problem of giveUp, and of the value of a step; at most 512mb. All steps of a task together may have four times that.",
    ...size("16mb"),
  },
  MAX_OUTPUT: {
    as: "maxOutputBytes",
    about: "Maximum size of the output of a task (task.write), counted as JSON over all attempts; at most 512mb.",
    ...size("1mb"),
  },
  MAX_CONNECTIONS: {
    as: "maxConnections",
    about: "Maximum number of connections of an API process; further ones are closed at once.",
    ...whole(10_000, 1, 1_000_000),
  },
  MAX_STREAMS: {
    as: "maxStreams",
    about:
      "Maximum number of open event streams and long polls (also of workers that wait for a lease) of one key (without keys: of one address) in a process; beyond it 429.",
    ...whole(1000, 1, 1_000_000),
  },
  PENDING_STATUS: {
    as: "pendingStatus",
    about:
      "Status of GET /v1/requests/{id} while there is no result yet: 404, or 202 for clients that treat 404 as an error.",
    ...numberOf(404, [404, 202]),
  },
  MCP: {
    as: "mcp",
    about: "Whether queues are tools of models at /mcp, by the Model Context Protocol (docs/mcp.md): on or off.",
    ...oneOf("on", ["on", "off"] as const),
  },
  REPLICATE: {
    as: "replicate",
    about:
      "Whether the paths of Replicate's predictions are served below /replicate/v1, for its client libraries (docs/client.md).",
    ...flag(false),
  },
  TRUST_PROXY: {
    as: "trustProxy",
    about: "Whether to trust X-Forwarded-* headers: true only behind exactly one proxy that sets them.",
    ...flag(false),
  },
} as const;

const SECURITY = {
  AUTH: {
    as: "auth",
    about:
      "Without keys the server is open to everyone, so it starts only on a loopback address. none: deliberately open on any address.",
    ...oneOf("", ["none"] as const),
  },
  API_KEYS: {
    as: "apiKeys",
    about:
      "API keys by their hashes, separated by commas: name:submit+read:<sha256 hex of the key>. Scopes: submit (and watch, collect, cancel one's own tasks), read (all tasks), work (leases), admin (everything). Create one: `paihao keys create NAME --scopes submit`.",
    ...listOf(`${KEY_FORM}, separated by commas`, parseApiKey, { secret: true, check: checkNamesUnique }),
  },
  API_KEYS_FILE: {
    as: "apiKeysFile",
    about: "A file with one such key per line; # starts a comment. Read again when it changes, and on SIGHUP.",
    ...text("", /\S/, `a file with a line ${KEY_FORM} for each key`),
  },
  URL_SIGNING_KEY: {
    as: "urlSigningKey",
    about:
      "A secret of at least 16 characters, e.g. from `openssl rand -base64 32`. If set, links to a task are signed: whoever has the link can read this one task without a key.",
    ...text("", /^\S.{14,}\S$/, "a secret of at least 16 characters"),
    secret: true,
  },
  URL_TTL: {
    as: "urlTtlMs",
    about: "How long a signed link is valid, at least 1s.",
    ...duration("24h", 1000, LONGEST_MS),
  },
  RATE_LIMIT: {
    as: "rateLimit",
    about:
      "Maximum number of requests of one key (without keys: of one address) in a span of whole seconds, e.g. 100/1m. Not set: no limit.",
    ...rate(),
  },
  ALLOWED_HOSTS: {
    as: "allowedHosts",
    about:
      "Further values of the Host header to accept, besides localhost, 127.0.0.1, [::1] and HOST: names and addresses without ports, separated by commas. Without keys all other hosts are refused with 421, except IP addresses if HOST is not a loopback address; with keys they are refused only if this is set.",
    ...listOf("host names or addresses without ports, separated by commas", readHost),
  },
  CORS_ORIGINS: {
    as: "corsOrigins",
    about: "Origins of web pages that may use the API from a browser, separated by commas, or *.",
    ...listOf("* or origins such as https://app.example, separated by commas", readOrigin),
  },
  EMBED_ORIGINS: {
    as: "embedOrigins",
    about:
      "Origins of web pages that may show a task in a frame (docs/waiting-room.md), separated by commas, or *. Not set: none.",
    ...listOf("* or origins such as https://app.example, separated by commas", readOrigin),
  },
  WEBHOOK_SECRET: {
    as: "webhookSecrets",
    about:
      "Secret to sign webhooks with (Standard Webhooks): whsec_ and the base64 of 24 to 64 bytes; two, separated by a comma, to rotate.",
    ...listOf("whsec_ and the base64 of 24 to 64 bytes, or two of them separated by a comma", readWebhookSecret, {
      max: 2,
      secret: true,
    }),
  },
  WEBHOOK_ALLOW: {
    as: "webhookAllow",
    about:
      "Hosts, addresses and CIDRs, separated by commas, that webhooks may go to although they are not public, or over plain http.",
    ...allowList(),
  },
} as const;

/** All variables as `.env.example` shows them. */
export const SECTIONS: readonly Section[] = [
  { title: "The store", variables: STORE },
  { title: "The process", variables: PROCESS },
  { title: "Tasks", variables: TASKS },
  { title: "HTTP", variables: HTTP },
  { title: "Security", variables: SECURITY },
];

interface Section {
  readonly title: string;
  readonly variables: Readonly<Record<string, Variable<unknown, unknown> & { readonly about: string }>>;
}

/**
 * Every variable that the server reads: what it means, its default, how it is read, and its name in {@link Config}. Everything else that
 * shows settings is derived from this table.
 */
export const VARIABLES = { ...STORE, ...PROCESS, ...TASKS, ...HTTP, ...SECURITY } as const;

type Table = typeof VARIABLES;

/** The values of all variables, as read, or as they are if not set. */
export type Values = {
  readonly [Name in keyof Table]: Table[Name] extends Variable<infer Value, infer Unset> ? Value | Unset : never;
};

/** The values that are settings without a change, by their names there. */
export type NamedValues = {
  readonly [Name in keyof Table as Table[Name] extends { readonly as: infer Field extends string }
    ? Field
    : never]: Values[Name];
};

/** The settings that are such values. */
export function named(values: Values): NamedValues {
  const fields = Object.entries(VARIABLES).flatMap(([name, variable]) =>
    "as" in variable ? [[variable.as, values[name as keyof Values]]] : [],
  );
  return Object.fromEntries(fields);
}
