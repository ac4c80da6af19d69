import { messageOf, StartError } from "../errors.ts";
import { nearest } from "./nearest.ts";
import type { Variable } from "./values.ts";
import { type NamedValues, named, VARIABLES, type Values } from "./variables.ts";

/** The hosts that requests may name. */
export interface ServedHosts {
  /** Lower-case, without ports. */
  readonly names: readonly string[];
  /** Whether any IP address is served as well. */
  readonly addresses: boolean;
  /** Whether health and readiness are also answered for any other host. */
  readonly probes: boolean;
}

/** All settings, read once and checked: those of {@link VARIABLES}, durations in ms, sizes in bytes, and what follows from them. */
export interface Config extends Omit<NamedValues, "port"> {
  /** Undefined for a worker without PORT, which does not listen. */
  readonly port: number | undefined;
  /** Undefined: all hosts. */
  readonly servedHosts: ServedHosts | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Addresses on which the server starts without keys, although then everyone who can connect may do everything. */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/i;

/** What decides who may reach an address. */
type AccessConfig = Pick<Config, "allowedHosts" | "apiKeys" | "apiKeysFile" | "auth">;

/**
 * The hosts that requests to an address may name. Without keys a request must name this server: otherwise a web page could reach it under a
 * name of its own (DNS rebinding). With keys, which such a page does not have, names are checked only if ALLOWED_HOSTS is set.
 * @param setting what names the address, for errors
 * @throws StartError if anyone could reach the address, and that is not said to be meant
 */
export function servedHostsOn(host: string, config: AccessConfig, setting = "HOST"): ServedHosts | undefined {
  const { allowedHosts: allowed, apiKeys, apiKeysFile, auth } = config;
  const open = apiKeys.length === 0 && apiKeysFile === undefined;
  if (open && !LOOPBACK.test(host) && auth !== "none") {
    throw new StartError(
      `${setting} is ${JSON.stringify(host)} but there are no API_KEYS: anyone who can reach it could do anything; set API_KEYS or API_KEYS_FILE, use a loopback address, or set AUTH=none if that is intended`,
    );
  }
  if (!open && allowed.length === 0) return undefined;
  const local = open && LOOPBACK.test(host);
  const own = host.includes(":") ? `[${host}]` : host;
  const names = ["localhost", "127.0.0.1", "[::1]", own, ...allowed].map((name) => name.toLowerCase());
  // Callers and probes in a network use addresses, which the server cannot know. An address is not a name, so it cannot be rebound.
  return { names, addresses: open && !local, probes: !local };
}

/** The value of one variable, or its value if it is not set. @throws StartError */
function readVariable<T, Unset>(name: string, variable: Variable<T, Unset>, given: string | undefined): T | Unset {
  const value = (given ?? "").trim();
  if (value === "") return variable.unset;
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

/** Only the API keys and their file, for the commands that manage them. */
export function readKeySources(env: Environment = process.env): Pick<Config, "apiKeys" | "apiKeysFile"> {
  return {
    apiKeys: readVariable("API_KEYS", VARIABLES.API_KEYS, env.API_KEYS),
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
    Object.entries<Variable<unknown, unknown>>(VARIABLES).map(([name, variable]) => [
      name,
      readVariable(name, variable, given(name)),
    ]),
  ) as Values;
  const role = values.ROLE;
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
  const port = role === "worker" && given("PORT") === "" ? undefined : values.PORT;
  const config = named(values);
  return { ...config, port, servedHosts: port === undefined ? undefined : servedHostsOn(config.host, config) };
}

/** Read by commands, not by the server. */
const OF_COMMANDS = ["PAIHAO_URL", "PAIHAO_KEY"];
const PREFIX = "PAIHAO_";
/** What Kubernetes sets in every container for a service whose name begins with paihao. */
const OF_SERVICES = /^PAIHAO_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\w+)?)$/;

/** A variable that looks like one of ours, but is not. */
interface MisspeltVariable {
  readonly name: string;
  /** The variable that may be meant; undefined if none is similar. */
  readonly meant: string | undefined;
}

/**
 * The variables that nothing reads, although their names differ from ours in only a letter or two, or begin with PAIHAO_. All others are
 * ignored: an environment is shared with many programs.
 */
export function misspeltVariables(env: Environment = process.env): MisspeltVariable[] {
  const [given, known] = [Object.keys(env), Object.keys(VARIABLES)];
  const ours = new Set([...known, ...OF_COMMANDS]);
  return given.flatMap((name) => {
    if (ours.has(name) || name.startsWith("OTEL_") || OF_SERVICES.test(name)) return [];
    const isPrefixed = name.startsWith(PREFIX);
    const bare = isPrefixed ? name.slice(PREFIX.length) : name;
    const meant = nearest(name, ours, maxMistakes(name)) ?? nearest(bare, known, maxMistakes(bare));
    // If the right one is set too, the other belongs to another program.
    if (meant !== undefined && given.includes(meant)) return [];
    return meant !== undefined || isPrefixed ? [{ name, meant }] : [];
  });
}

/** A short name is more likely to be that of another program, so it must be closer. */
function maxMistakes({ length }: string): number {
  if (length < 6) return 0;
  return length < 10 ? 1 : 2;
}

/** The secrets among the settings, which must not appear in a log: as they were given, and decoded. */
export function secretsOf(config: Pick<Config, "redisUrl" | "urlSigningKey" | "webhookSecrets">): string[] {
  const { redisUrl = "", urlSigningKey = "", webhookSecrets } = config;
  // Not by the URL parser, which does not accept several hosts.
  const password = /^[a-z+]+:\/\/[^@/]*?:([^@]+)@/i.exec(redisUrl)?.[1] ?? "";
  const sentinels = /[?&]sentinel_password=([^&]+)/.exec(redisUrl)?.[1] ?? "";
  return [password, decoded(password), sentinels, decoded(sentinels), urlSigningKey, ...webhookSecrets].filter(
    (secret) => secret !== "",
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
