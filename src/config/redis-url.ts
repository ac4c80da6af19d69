import { StartError } from "../errors.ts";

/** One host and its port. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The login of a Redis. */
interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

/** PEM files for TLS. */
export interface TlsFiles {
  /** The certificates of the authorities that sign the servers'; default: those that Node knows. */
  readonly ca?: string;
  /** The client's certificate and its key. */
  readonly cert?: string;
  readonly key?: string;
}

/** The address of a store, in one of the forms of {@link REDIS_URL_FORMS}. */
export type RedisAddress =
  | ({
      readonly kind: "single";
      readonly database: number;
      readonly login: Credentials;
      readonly tls?: TlsFiles;
    } & Endpoint)
  | {
      readonly kind: "socket";
      readonly path: string;
      readonly database: number;
      readonly login: Credentials;
    }
  | {
      readonly kind: "cluster";
      readonly nodes: readonly Endpoint[];
      readonly login: Credentials;
      readonly tls?: TlsFiles;
    }
  | {
      readonly kind: "sentinel";
      readonly sentinels: readonly Endpoint[];
      /** The name under which the sentinels watch the master. */
      readonly master: string;
      readonly database: number;
      readonly login: Credentials;
      /** That of the sentinels themselves. */
      readonly sentinelLogin: Credentials;
      /** Applies to the sentinels too. */
      readonly tls?: TlsFiles;
    };

/** The forms of REDIS_URL, for error messages and guides. */
export const REDIS_URL_FORMS =
  "redis://host:port, redis+cluster://host:port,host:port, redis+sentinel://host:port,host:port/master or unix:///path; rediss for TLS";

const PORTS = { single: 6379, cluster: 6379, sentinel: 26_379 } as const;

const OPTIONS = ["db", "ca", "cert", "key", "sentinel_username", "sentinel_password"] as const;
type Options = ReadonlyMap<(typeof OPTIONS)[number], string>;

/**
 * Reads an address. Any part of it may contain a piece of an unencoded password, so errors do not repeat it.
 * @throws StartError that says which part is wrong, without its value
 */
export function parseRedisUrl(value: string): RedisAddress {
  const [, scheme = "", rest = ""] = /^([a-z+]+):\/\/(.+)$/is.exec(value) ?? [];
  const parts = /^(?:(unix)|redis(s?)(?:\+(cluster|sentinel))?)$/.exec(scheme.toLowerCase());
  const [, authority = "", path = "", query = ""] = /^([^/?#]*)([^?#]*)(?:\?([^#]*))?$/s.exec(rest) ?? [];
  if (parts === null || authority + path === "") throw unreadable();
  const [, socket, secure, form = "single"] = parts;
  const [, login = "", hosts = ""] = /^(?:(.*)@)?([^@]*)$/s.exec(authority) ?? [];
  // What follows an unencoded / or ? of a password.
  if (/[\s@]/.test(login) || query.includes("@")) throw unreadable();
  const options = optionsOf(query);
  const tls = secure === "s" ? tlsFiles(options) : noTls(options);
  if (socket !== undefined) {
    if (hosts !== "" || path.length < 2) throw unreadable();
    noSentinels(options);
    return { kind: "socket", path: decoded(path), database: databaseIn("", options), login: credentialsOf(login) };
  }
  if (path.includes("@")) throw unreadable();
  const kind = form as keyof typeof PORTS;
  const endpoints = hosts.split(",").map((host) => endpointOf(host, PORTS[kind]));
  const common = { login: credentialsOf(login), ...(tls && { tls }) };
  if (kind === "sentinel") {
    const [, master = "", database = ""] = /^\/([^/]+)(?:\/(\d+))?$/.exec(path) ?? [];
    if (master === "")
      throw new StartError("the sentinels must be followed by /name of the master, and by /database if it is not 0");
    const sentinelLogin = sentinelLoginOf(options);
    return {
      ...{ kind, sentinels: endpoints, master: decoded(master), database: databaseIn(database, options) },
      ...{ ...common, sentinelLogin },
    };
  }
  noSentinels(options);
  const database = databaseIn(path.slice(1), options);
  if (kind === "cluster") {
    if (database !== 0) throw new StartError("a Redis Cluster has only database 0");
    return { kind, nodes: endpoints, ...common };
  }
  const [endpoint, other] = endpoints;
  if (endpoint === undefined || other !== undefined)
    throw new StartError("several hosts need redis+cluster:// or redis+sentinel://");
  return { kind, ...endpoint, database, ...common };
}

function unreadable(): StartError {
  return new StartError(
    "the address does not have this form; special characters in a password, name or path must be percent-encoded: @ as %40, / as %2F, : as %3A, ? as %3F, # as %23, % as %25",
  );
}

/** What stands after `?`. An unknown name is not repeated: it may be a piece of a password. */
function optionsOf(query: string): Options {
  const options = new Map<(typeof OPTIONS)[number], string>();
  for (const option of query.split("&").filter((text) => text !== "")) {
    const name = OPTIONS.find((known) => option.split("=", 1)[0] === known);
    if (name === undefined)
      throw new StartError(`it has an unknown option after ?, expected some of ${OPTIONS.join(", ")}`);
    const value = decoded(option.slice(name.length + 1));
    if (value === "") throw new StartError(`its option ${name} is empty`);
    if (options.has(name)) throw new StartError(`its option ${name} is given twice`);
    options.set(name, value);
  }
  return options;
}

/** The database, which is named behind the hosts, or as an option; 0 if it is not. */
function databaseIn(named: string, options: Options): number {
  const option = options.get("db");
  if (named !== "" && option !== undefined) throw new StartError("its database is given twice");
  const database = option ?? (named || "0");
  if (!/^\d{1,5}$/.test(database)) throw new StartError("its database must be a number, such as /2 or ?db=2");
  return Number(database);
}

function tlsFiles(options: Options): TlsFiles {
  const [ca, cert, key] = [options.get("ca"), options.get("cert"), options.get("key")];
  if ((cert === undefined) !== (key === undefined)) {
    throw new StartError("a client's certificate and its key belong together: cert and key");
  }
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
}

function noTls(options: Options): undefined {
  const file = (["ca", "cert", "key"] as const).find((name) => options.has(name));
  if (file !== undefined) throw new StartError(`its option ${file} needs TLS: rediss in place of redis`);
}

function sentinelLoginOf(options: Options): Credentials {
  const [username, password] = [options.get("sentinel_username"), options.get("sentinel_password")];
  if (username !== undefined && password === undefined)
    throw new StartError("sentinel_username needs sentinel_password");
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

function noSentinels(options: Options): void {
  const name = (["sentinel_username", "sentinel_password"] as const).find((option) => options.has(option));
  if (name !== undefined) throw new StartError(`${name} is for redis+sentinel:// only`);
}

/** The address of the store that listens on a socket of this machine. */
export function socketUrl(path: string): string {
  return `unix://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** An address for log lines and messages: hosts, ports, paths and names, without user and password. */
export function placeOf(address: RedisAddress): string {
  if (address.kind === "socket") return `${address.path}${databaseOf(address)}`;
  const tls = address.tls ? " over TLS" : "";
  if (address.kind === "single") return `${hostPort(address)}${databaseOf(address)}${tls}`;
  const list = (address.kind === "cluster" ? address.nodes : address.sentinels).map(hostPort).join(",");
  if (address.kind === "cluster") return `cluster ${list}${tls}`;
  return `${address.master} of sentinels ${list}${databaseOf(address)}${tls}`;
}

function hostPort({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function databaseOf({ database }: { readonly database: number }): string {
  return database === 0 ? "" : ` database ${database}`;
}

function endpointOf(text: string, fallback: number): Endpoint {
  const [, bracketed, plain, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? fallback : Number(digits);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new StartError("its hosts must be host:port, separated by commas; IPv6 addresses in brackets");
  }
  return { host, port };
}

function credentialsOf(login: string): Credentials {
  if (login === "") return {};
  const colon = login.indexOf(":");
  const username = decoded(colon < 0 ? login : login.slice(0, colon));
  const password = colon < 0 ? "" : decoded(login.slice(colon + 1));
  return { ...(username === "" ? {} : { username }), ...(password === "" ? {} : { password }) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw unreadable();
  }
}
