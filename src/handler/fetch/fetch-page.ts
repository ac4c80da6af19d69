import { readFetchAllow } from "../../config/config.ts";
import { AddressGuard } from "../../net/ssrf-guard.ts";
import { fetchPage as fetchGuarded, type Page } from "./guarded-fetch.ts";

/**
 * Fetches a web page for a handler: only from public addresses, and those that FETCH_ALLOW lists, also after redirects. So a
 * URL from a caller cannot reach this machine or its network. At most 5 MiB, 20 s and five redirects.
 * @throws FetchError; its `failure` says why, and its message may be shown to the caller
 */
export function fetchPage(url: string, { signal }: { signal: AbortSignal }): Promise<Page> {
  return fetchGuarded(url, { guard: new AddressGuard(readFetchAllow()), signal });
}
