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
  | { readonly kind: "single"; readonly url: string; readonly tls?: TlsFiles | undefined }
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

const PORTS = { cluster: 6379, sentinel: 26_379 } as const;

/**
 * Reads an address. Any part of it may contain a piece of an unencoded password, so errors do not repeat it.
 * @throws StartError that says which part is wrong, without its value
 */
export function parseRedisUrl(value: string): RedisAddress {
  const socket = /^unix:\/\/(?:([^@/]*)@)?(\/[^?#]+)(?:\?db=(\d{1,5}))?$/.exec(value);
  if (socket !== null) {
    const [, login = "", path = "", database = "0"] = socket;
    return { kind: "socket", path: decoded(path), database: Number(database), login: credentialsOf(login) };
  }
  const form = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^@/]*)@)?([^@/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(value);
  const [, scheme, kind, login = "", hosts = "", path = "/", query = ""] = form ?? [];
  if (kind === undefined) return parseSingle(value);
  const { tls, sentinelLogin, rest } = optionsOf(query, scheme === "rediss");
  const [unknown] = rest;
  if (unknown !== undefined) throw new StartError("it has an unknown option after ?");
  const endpoints = hosts.split(",").map((host) => endpointOf(host, PORTS[kind as keyof typeof PORTS]));
  if (kind === "cluster") {
    noSentinels(sentinelLogin);
    if (path !== "/" && path !== "/0") throw new StartError("a Redis Cluster has only database 0");
    return { kind, nodes: endpoints, login: credentialsOf(login), ...(tls && { tls }) };
  }
  const [, master = "", database = "0"] = /^\/([^/]+)(?:\/(\d{1,5}))?$/.exec(path) ?? [];
  if (master === "")
    throw new StartError("the sentinels must be followed by /name of the master, and by /database if it is not 0");
  return {
    kind: "sentinel",
    sentinels: endpoints,
    master: decoded(master),
    database: Number(database),
    login: credentialsOf(login),
    sentinelLogin,
    ...(tls && { tls }),
  };
}

const TLS_FILES = ["ca", "cert", "key"] as const;

/** The options after `?`: ours, and the rest. `tls` is undefined without TLS. */
function optionsOf(query: string, secure: boolean) {
  const ours = new Map<string, string>();
  const rest = query.split("&").filter((option) => {
    const [, name = "", value = ""] = /^(ca|cert|key|sentinel_username|sentinel_password)=(.*)$/.exec(option) ?? [];
    if (name !== "" && value === "") throw new StartError(`its option ${name} is empty`);
    if (name !== "") ours.set(name, decoded(value));
    return name === "" && option !== "";
  });
  const files: TlsFiles = Object.fromEntries(
    TLS_FILES.flatMap((name) => (ours.has(name) ? [[name, ours.get(name)]] : [])),
  );
  const [first] = Object.keys(files);
  if (!secure && first !== undefined) throw new StartError(`its option ${first} needs TLS: rediss in place of redis`);
  if ((files.cert === undefined) !== (files.key === undefined)) {
    throw new StartError("a client's certificate and its key belong together: cert and key");
  }
  const [username, password] = [ours.get("sentinel_username"), ours.get("sentinel_password")];
  if (username !== undefined && password === undefined)
    throw new StartError("sentinel_username needs sentinel_password");
  const sentinelLogin: Credentials = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
  return { tls: secure ? files : undefined, sentinelLogin, rest };
}

function noSentinels({ password }: Credentials): void {
  if (password !== undefined) throw new StartError("sentinel_password is for redis+sentinel:// only");
}

/** The address of the store that listens on a socket of this machine. */
export function socketUrl(path: string): string {
  return `unix://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** An address for log lines and messages: hosts, ports, paths and names, without user and password. */
export function placeOf(address: RedisAddress): string {
  if (address.kind === "socket") return `${address.path}${databaseOf(address)}`;
  if (address.kind === "single") {
    const { hostname, port, pathname, protocol } = new URL(address.url);
    const database = pathname.length > 1 ? ` database ${pathname.slice(1)}` : "";
    return `${hostname || "localhost"}:${port || "6379"}${database}${protocol === "rediss:" ? " over TLS" : ""}`;
  }
  const tls = address.tls ? " over TLS" : "";
  const list = (address.kind === "cluster" ? address.nodes : address.sentinels)
    .map(({ host, port }) => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`))
    .join(",");
  if (address.kind === "cluster") return `cluster ${list}${tls}`;
  return `${address.master} of sentinels ${list}${databaseOf(address)}${tls}`;
}

function databaseOf({ database }: { readonly database: number }): string {
  return database === 0 ? "" : ` database ${database}`;
}

/** Checks the host, since the client library silently takes an address without one for localhost. */
function parseSingle(url: string): RedisAddress {
  if (!/^rediss?:\/\/\S+$/.test(url) || !URL.canParse(url) || new URL(url).hostname === "") {
    throw new StartError(
      "the address does not have this form; special characters in a password must be percent-encoded",
    );
  }
  const { username, password, search, protocol } = new URL(url);
  decoded(username + password);
  const { tls, sentinelLogin, rest } = optionsOf(search.slice(1), protocol === "rediss:");
  noSentinels(sentinelLogin);
  // Options of the client library stay.
  return {
    kind: "single",
    url: url.replace(/\?.*$/, rest.length > 0 ? `?${rest.join("&")}` : ""),
    ...(tls && { tls }),
  };
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
    throw new StartError("special characters in a password or path must be percent-encoded");
  }
}
