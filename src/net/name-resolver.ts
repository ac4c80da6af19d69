import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { withTimeout } from "./deadline.ts";

/** Limits of look-ups. */
const RESOLVER_DEFAULTS = {
  /** Longest time of a look-up. */
  limitMs: 5000,
  /** Timeout of the first query to a name server; the second waits twice as long. */
  firstTryMs: 1500,
  tries: 2,
  /** Most names looked up at the same time; further ones are refused. */
  max: 2000,
  /** How often the system's list of name servers is read again. */
  serversMs: 30_000,
} as const;

const HOSTS_FILE = process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts";

/** The codes for a name that has no address, as opposed to one that could not be resolved at the moment. */
const DEFINITE = new Set(["ENOTFOUND", "ENODATA", "EBADNAME", "EAI_NONAME", "EAI_NODATA"]);

/** Whether a look-up that failed may succeed later. */
export function mayResolveLater(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && !DEFINITE.has(code);
}

export interface NameResolverOptions {
  /** Default: the system's name servers. */
  readonly servers?: readonly string[];
  /** Default: the system's. */
  readonly hostsFile?: string;
  readonly limitMs?: number;
  readonly max?: number;
}

/**
 * Looks up names that callers may have chosen. Node's own `lookup` uses the operating system and a pool of few threads: a few
 * names whose servers never answer would block all other look-ups of the process. Here look-ups do not block each other.
 */
export class NameResolver {
  readonly #options: Required<Omit<NameResolverOptions, "servers">> & Pick<NameResolverOptions, "servers">;
  /** Look-ups in flight: requests for the same name share one. */
  readonly #pending = new Map<string, Promise<readonly LookupAddress[]>>();
  #dns: { readonly resolver: Resolver; readonly madeAt: number } | undefined;

  constructor(options: NameResolverOptions = {}) {
    const { limitMs, max } = RESOLVER_DEFAULTS;
    this.#options = { limitMs, max, hostsFile: HOSTS_FILE, ...options };
  }

  /**
   * The addresses of a name that a caller may have chosen, from the hosts file or the name servers. Search domains are not
   * tried.
   * @throws Error with the resolver's code, see {@link mayResolveLater}
   */
  resolve(host: string): Promise<readonly LookupAddress[]> {
    return this.#share(`dns ${host}`, host, () => this.#resolve(host));
  }

  /**
   * The addresses of a name that the operator chose, as the operating system resolves them.
   * @throws Error as {@link resolve}
   */
  resolveBySystem(host: string): Promise<readonly LookupAddress[]> {
    return this.#share(`system ${host}`, host, () => lookup(host, { all: true }));
  }

  #share(key: string, host: string, look: () => Promise<readonly LookupAddress[]>): Promise<readonly LookupAddress[]> {
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    if (this.#pending.size >= this.#options.max) return Promise.reject(failure("EAGAIN", host));
    const looking = look();
    // It counts as in flight until it has really ended, even after the timeout: the operating system cannot be told to stop.
    const shared = withTimeout(this.#options.limitMs, looking, () => failure("ETIMEOUT", host));
    this.#pending.set(key, shared);
    const done = () => this.#pending.delete(key);
    looking.then(done, done);
    return shared;
  }

  async #resolve(host: string): Promise<readonly LookupAddress[]> {
    const name = (host.endsWith(".") ? host.slice(0, -1) : host).toLowerCase();
    const listed = addressesOf(name, await readFile(this.#options.hostsFile, "utf8").catch(() => ""));
    if (listed.length > 0) return listed;
    // RFC 6761 §6.3: name servers must not be asked.
    if (name === "localhost" || name.endsWith(".localhost")) {
      return [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 },
      ];
    }
    const resolver = this.#resolver();
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (found.length > 0) return found.map((address) => ({ address, family: isIP(address) }));
    const errors = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as Error] : []));
    // One address family may exist without the other.
    throw errors.find(mayResolveLater) ?? failure("ENOTFOUND", host);
  }

  #resolver(): Resolver {
    const { firstTryMs, tries, serversMs } = RESOLVER_DEFAULTS;
    if (!this.#dns || performance.now() - this.#dns.madeAt > serversMs) {
      const resolver = new Resolver({ timeout: firstTryMs, tries });
      if (this.#options.servers) resolver.setServers(this.#options.servers);
      this.#dns = { resolver, madeAt: performance.now() };
    }
    return this.#dns.resolver;
  }
}

/** An error like those of Node. */
function failure(code: string, host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`query ${code} ${host}`), { code, syscall: "query" });
}

/** The addresses of a name in the text of a hosts file (hosts(5)). */
function addressesOf(name: string, text: string): LookupAddress[] {
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = (line.split("#", 1)[0] ?? "").trim().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.some((one) => one.toLowerCase() === name) ? [{ address, family }] : [];
  });
}
