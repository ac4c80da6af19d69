import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { StartError } from "../errors.ts";
import { NameResolver } from "./name-resolver.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What may be contacted though it is not public. */
export interface AllowList {
  /** Host names in lower case, without a trailing dot; each stands for whatever it resolves to. */
  readonly hosts: ReadonlySet<string>;
  readonly ranges: readonly (readonly [network: Address, prefixLength: number])[];
}

/** A target that may not be contacted. The message names what the caller wrote, never what a name resolved to. */
export class TargetRefused extends Error {
  override readonly name = "TargetRefused";
}

/** Turns a host name into all of its addresses. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface GuardOptions {
  /** `"any"` (the default), or `"listed"`: http, without TLS, is only for what the allow list names. */
  plainHttp?: "any" | "listed";
  /** Default: the operating system's way for names of the allow list, the file of hosts and the name servers for all others. */
  resolve?: Resolve;
}

/**
 * Reads an allow list: host names, addresses and CIDRs, e.g. `["files.internal", "10.1.2.3", "10.0.0.0/8", "fd00::/8"]`.
 * A host name stands for itself alone, on every port, not for the names below it.
 * @throws StartError that names the item which is none of the three
 */
export function parseAllowList(items: readonly string[]): AllowList {
  const hosts = new Set<string>();
  const ranges: [Address, number][] = [];
  for (const item of items) {
    const range = parseRange(item);
    if (range) ranges.push(range);
    else hosts.add(parseHost(item));
  }
  return { hosts, ranges };
}

/**
 * Says who may be contacted: http and https to public addresses, and to what the allow list names.
 * {@link admit} judges the URL alone; {@link lookup} judges each address of a name at the very moment it is connected to,
 * so that a name cannot be public when it is checked and private when it is used. A request needs both:
 * Node asks no lookup for a host that is an address.
 */
export class AddressGuard {
  readonly #allow: AllowList;
  readonly #plainHttp: "any" | "listed";
  readonly #resolve: Resolve;

  constructor(allow: AllowList, options: GuardOptions = {}) {
    this.#allow = allow;
    this.#plainHttp = options.plainHttp ?? "any";
    const names = new NameResolver();
    this.#resolve =
      options.resolve ??
      ((host) => (allow.hosts.has(withoutDot(host)) ? names.resolveBySystem(host) : names.resolve(host)));
  }

  /**
   * Judges a URL without asking a name server.
   * @throws TargetRefused when it is no http(s) URL, holds credentials, or its host is an address that may not be contacted
   */
  admit(target: string | URL): URL {
    const url = parseUrl(target);
    // What is in a URL ends up in logs, and a redirect could make us send a password somewhere else.
    if (url.username !== "" || url.password !== "") throw new TargetRefused("a URL with a user name or password");
    const literal = bareHost(url);
    if (isIP(literal) !== 0) this.#judge(url, [literal]);
    return url;
  }

  /**
   * Judges a URL and every address that its host has now, for an answer ahead of time; connect with {@link lookup} all the same.
   * @throws TargetRefused as {@link admit}, and when one of the addresses may not be contacted
   * @throws the resolver's own error (`code` ENOTFOUND, EAI_AGAIN …) when the name does not resolve
   */
  async check(target: string | URL): Promise<URL> {
    const url = this.admit(target);
    const host = bareHost(url);
    if (isIP(host) === 0) await this.#addresses(url, host);
    return url;
  }

  /** The `lookup` option for a node:http(s) request to `url`: fails with {@link TargetRefused}, else gives checked addresses. */
  lookup(url: URL): LookupFunction {
    return (host, options, callback) => {
      this.#addresses(url, host).then(
        (addresses) => {
          const wanted = options.family === 4 || options.family === 6 ? options.family : undefined;
          const usable = addresses.filter((a) => wanted === undefined || a.family === wanted);
          const [first] = usable;
          if (!first) callback(notFound(host), "");
          else if (options.all) callback(null, usable);
          else callback(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, ""),
      );
    };
  }

  async #addresses(url: URL, host: string): Promise<readonly LookupAddress[]> {
    const addresses = await this.#resolve(host);
    if (addresses.length === 0) throw notFound(host);
    this.#judge(
      url,
      addresses.map((a) => a.address),
    );
    return addresses;
  }

  /** One bad address spoils the host: which of several is connected to is not ours to choose. */
  #judge(url: URL, addresses: readonly string[]): void {
    const host = bareHost(url);
    if (this.#allow.hosts.has(withoutDot(host))) return;
    for (const text of addresses) {
      const address = ipaddr.parse(text);
      if (this.#allow.ranges.some((range) => within(address, range))) continue;
      if (!isPublic(address)) {
        throw new TargetRefused(
          isIP(host) === 0 ? `${host} has an address that is not public` : `${host} is not a public address`,
        );
      }
      if (url.protocol === "http:" && this.#plainHttp === "listed") {
        throw new TargetRefused(`http is not allowed for ${host}, use https`);
      }
    }
  }
}

const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

/** Whether an address is one of the public internet. Addresses that carry an IPv4 address inside (mapped, 6to4, NAT64, Teredo) are not. */
function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  // To ipaddr.js "unicast" is what remains, among it the deprecated ::a.b.c.d; IANA has given out 2000::/3 alone.
  return address.kind() === "ipv4" || within(address, GLOBAL_UNICAST_V6);
}

function within(address: Address, [network, prefixLength]: readonly [Address, number]): boolean {
  return address.kind() === network.kind() && address.match(network, prefixLength);
}

function parseUrl(target: string | URL): URL {
  const url = typeof target === "string" ? (URL.canParse(target) ? new URL(target) : undefined) : target;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") throw new TargetRefused("not an http or https URL");
  return url;
}

/** The host without the brackets of an IPv6 address. URL has brought odd forms of IPv4 (0x7f.1, 2130706433) to four decimals. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

function withoutDot(host: string): string {
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

function parseRange(item: string): [Address, number] | undefined {
  if (item.includes("%")) return undefined; // a zone: a URL has none
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(item)) return ipaddr.IPv4.parseCIDR(item);
  if (ipaddr.IPv6.isValidCIDR(item)) return ipaddr.IPv6.parseCIDR(item);
  if (ipaddr.IPv4.isValidFourPartDecimal(item)) return [ipaddr.IPv4.parse(item), 32];
  if (isIP(item) === 6) return [ipaddr.IPv6.parse(item), 128];
  return undefined;
}

function parseHost(item: string): string {
  const url =
    /^[^\s/:?#@[\]%*]+$/.test(item) && URL.canParse(`http://${item}/`) ? new URL(`http://${item}/`) : undefined;
  // An odd form of an address would silently become another text: it is written plainly or not at all.
  if (!url || isIP(url.hostname) !== 0) {
    throw new StartError(`${JSON.stringify(item)} in an allow list is not a host name, an address or a CIDR`);
  }
  return withoutDot(url.hostname);
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" });
}
