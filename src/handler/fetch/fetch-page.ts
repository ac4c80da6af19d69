import { readFetchAllow } from "../../config/config.ts";
import { AddressGuard } from "../../net/ssrf-guard.ts";
import { fetchPage as fetchGuarded, type Page } from "./guarded-fetch.ts";

/**
 * Fetches a web page for a handler: only from public addresses, and those that `allow` lists, also after redirects. So a URL from a
 * caller cannot reach this machine or its network. At most 5 MiB, 20 s and five redirects.
 * @param options.allow hosts, addresses and CIDRs that are allowed although they are not public; default: the environment variable
 *   FETCH_ALLOW
 * @throws FetchError; its `failure` says why, and its message may be shown to the caller
 */
export function fetchPage(
  url: string,
  { signal, allow }: { signal: AbortSignal; allow?: readonly string[] | undefined },
): Promise<Page> {
  const allowed = allow === undefined ? readFetchAllow() : readFetchAllow({ FETCH_ALLOW: allow.join(",") });
  return fetchGuarded(url, { guard: new AddressGuard(allowed), signal });
}
