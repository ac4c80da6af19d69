import type Router from "@koa/router";
import type { Api } from "../../../src/http/api.ts";
import { ALL_ROUTES, apiEndpoints, routerOf } from "../../../src/http/router.ts";
import type { Route } from "../../../src/http/routes.ts";

/** The router of a server with all extras. */
function fullRouter(): Router {
  const api: Partial<Api> = { replicate: true, handlers: new Map(), stopping: new AbortController().signal };
  return routerOf(apiEndpoints(api as Api));
}

let router: Router | undefined;

/** What the router notes of a request on its context. */
export function matched(method: string, path: string): { state: { route?: Route }; params?: Record<string, string> } {
  router ??= fullRouter();
  const layer = router.match(path, method).pathAndMethod[0];
  const route = ALL_ROUTES[String(layer?.name)];
  return layer && route ? { state: { route }, params: layer.params(path, layer.captures(path)) } : { state: {} };
}
