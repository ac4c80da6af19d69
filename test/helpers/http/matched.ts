import type Router from "@koa/router";
import type { Engine } from "../../../src/engine/engine.ts";
import type { Api } from "../../../src/http/api.ts";
import { routerOf } from "../../../src/http/app.ts";
import type { Route } from "../../../src/http/route.ts";
import { routesOf } from "../../../src/http/routes.ts";

/** The routes of a server with all extras. */
export function allRoutes(): readonly Route[] {
  const stopping = new AbortController().signal;
  const api: Partial<Api> = { replicate: true, handlers: new Map(), stopping, engine: {} as Engine };
  return routesOf(api as Api);
}

let known: { readonly routes: readonly Route[]; readonly router: Router } | undefined;

/** What the router notes of a request on its context. */
export function matched(method: string, path: string): { state: { route?: Route }; params?: Record<string, string> } {
  if (!known) {
    const routes = allRoutes();
    known = { routes, router: routerOf(routes) };
  }
  const layer = known.router.match(path, method).pathAndMethod[0];
  const route = known.routes.find(({ name }) => name === layer?.name);
  return layer && route ? { state: { route }, params: layer.params(path, layer.captures(path)) } : { state: {} };
}
