import type Router from "@koa/router";
import type { Api } from "../../../src/http/api.ts";
import { apiEndpoints, routerOf } from "../../../src/http/router.ts";

/** The router of a server that serves everything. */
function fullRouter(): Router {
  const api: Partial<Api> = { replicate: true, handlers: new Map(), stopping: new AbortController().signal };
  return routerOf(apiEndpoints(api as Api));
}

let router: Router | undefined;

/** What the router notes of a request on its context. */
export function matched(method: string, path: string): { routerName?: string; params?: Record<string, string> } {
  router ??= fullRouter();
  const layer = router.match(path, method).pathAndMethod[0];
  return layer ? { routerName: String(layer.name), params: layer.params(path, layer.captures(path)) } : {};
}
