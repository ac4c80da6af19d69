import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { StartError } from "../errors.ts";
import { NameResolver } from "./name-resolver.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Targets that are allowed although they are not public. */
export interface AllowList {
  /** Host names in lower case, without a trailing dot; each includes every address it resolves to. */
  readonly hosts: ReadonlySet<string>;
  readonly ranges: readonly (readonly [network: Address, prefixLength: number])[];
}

/** A target that must not be contacted. The message contains only what the caller wrote, never what a name resolved to. */
export class TargetRefused extends Error {
  override readonly name = "TargetRefused";
}

/** Resolves a host name to all of its addresses. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export interface GuardOptions {
  /** `"any"` (the default), or `"listed"`: plain http only for targets on the allow list. */
  plainHttp?: "any" | "listed";
  /** Default: the operating system for names on the allow list, the hosts file and name servers for all others. */
  resolve?: Resolve;
}

/**
 * Reads an allow list: host names, addresses and CIDRs, e.g. `["files.internal", "10.1.2.3", "10.0.0.0/8", "fd00::/8"]`. A host
 * name applies to all ports, but not to its subdomains.
 * @throws StartError that names the invalid item
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
 * Decides which targets may be contacted: http and https to public addresses, and to those on the allow list. {@link admit}
 * checks only the URL; {@link lookup} checks the very addresses that are connected to, so that a name cannot be public when it
 * is checked and private when it is used. A request needs both, since Node calls no lookup for a host that is an address.
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
   * Checks a URL without a look-up.
   * @throws TargetRefused if it is not an http(s) URL, contains credentials, or its host is an address that must not be
   *   contacted
   */
  admit(target: string | URL): URL {
    const url = parseUrl(target);
    // URLs end up in logs, and a redirect could make us send a password elsewhere.
    if (url.username !== "" || url.password !== "") throw new TargetRefused("a URL with a user name or password");
    const literal = bareHost(url);
    if (isIP(literal) !== 0) this.#judge(url, [literal]);
    return url;
  }

  /**
   * Checks a URL and every current address of its host, to refuse early; connections still need {@link lookup}.
   * @throws TargetRefused as {@link admit}, and if one of the addresses must not be contacted
   * @throws the resolver's own error (`code` ENOTFOUND, EAI_AGAIN …) if the name does not resolve
   */
  async check(target: string | URL): Promise<URL> {
    const url = this.admit(target);
    const host = bareHost(url);
    if (isIP(host) === 0) await this.#addresses(url, host);
    return url;
  }

  /**
   * The `lookup` option for a node:http(s) request to `url`: fails with {@link TargetRefused}, or returns checked addresses.
   */
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

  /** One forbidden address is enough to refuse the host: we cannot choose which of several is connected to. */
  #judge(url: URL, addresses: readonly string[]): void {
    const host = bareHost(url);
    if (this.#allow.hosts.has(withoutDot(host))) return;
    for (const text of addresses) {
      const address = ipaddr.parse(text);
      if (this.#allow.ranges.some((range) => inRange(address, range))) continue;
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

/** Public addresses under which a platform serves its own machines, with their metadata and credentials among other things. */
const OF_PLATFORMS = [
  // Azure: DNS, health probes and the host of a virtual machine.
  "168.63.129.16/32",
  // IBM Cloud: services of the private network.
  ...["161.26.0.0/16", "166.8.0.0/14"],
].map((cidr) => ipaddr.parseCIDR(cidr));

/** The interface identifiers of ISATAP (RFC 5214 §6.1), the third quarter of an address: the last is an IPv4 address. */
const ISATAP = [
  [0x0000, 0x5efe],
  [0x0200, 0x5efe],
] as const;

/**
 * Whether an address is on the public internet. Addresses that embed an IPv4 address (mapped, 6to4, NAT64, Teredo, ISATAP) count as
 * not public.
 */
function isPublic(address: Address): boolean {
  if (address.range() !== "unicast" || OF_PLATFORMS.some((range) => inRange(address, range))) return false;
  if (address instanceof ipaddr.IPv6) {
    const [, , , , high, low] = address.parts;
    if (ISATAP.some(([first, second]) => high === first && low === second)) return false;
  }
  // ipaddr.js calls everything else "unicast", including the deprecated ::a.b.c.d; IANA has assigned only 2000::/3.
  return address.kind() === "ipv4" || inRange(address, GLOBAL_UNICAST_V6);
}

function inRange(address: Address, [network, prefixLength]: readonly [Address, number]): boolean {
  return address.kind() === network.kind() && address.match(network, prefixLength);
}

function parseUrl(target: string | URL): URL {
  const url = typeof target === "string" ? (URL.canParse(target) ? new URL(target) : undefined) : target;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") throw new TargetRefused("not an http or https URL");
  return url;
}

/** The host without the brackets of an IPv6 address. URL has already normalized unusual forms of IPv4 (0x7f.1, 2130706433). */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

function withoutDot(host: string): string {
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

function parseRange(item: string): [Address, number] | undefined {
  if (item.includes("%")) return undefined; // a zone, which a URL cannot have
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(item)) return ipaddr.IPv4.parseCIDR(item);
  if (ipaddr.IPv6.isValidCIDR(item)) return ipaddr.IPv6.parseCIDR(item);
  if (ipaddr.IPv4.isValidFourPartDecimal(item)) return [ipaddr.IPv4.parse(item), 32];
  if (isIP(item) === 6) return [ipaddr.IPv6.parse(item), 128];
  return undefined;
}

function parseHost(item: string): string {
  const url =
    /^[^\s/:?#@[\]%*]+$/.test(item) && URL.canParse(`http://${item}/`) ? new URL(`http://${item}/`) : undefined;
  // URL would silently rewrite an unusual form of an address, so only the usual form is accepted.
  if (!url || isIP(url.hostname) !== 0) {
    throw new StartError(`${JSON.stringify(item)} in an allow list is not a host name, an address or a CIDR`);
  }
  return withoutDot(url.hostname);
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" });
}
