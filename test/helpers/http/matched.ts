import type Router from "@koa/router";
import { readConfig } from "../../../src/config/config.ts";
import type { Hooks } from "../../../src/extension.ts";
import type { Api } from "../../../src/http/api.ts";
import { routerOf } from "../../../src/http/app.ts";
import type { Route } from "../../../src/http/route.ts";
import { routesOf } from "../../../src/http/routes.ts";
import { EXTENSIONS } from "../../../src/server.ts";

/** All that a server may have. */
export function allExtensions(): readonly Hooks[] {
  const config = readConfig({}, { REPLICATE: "true" });
  const server = { config, handlers: new Map(), signer: undefined, storeUrl: "redis://localhost" };
  const engine = () => {
    throw new Error("nothing has started");
  };
  return EXTENSIONS.map((extension) => extension({ ...server, engine }));
}

/** The routes of such a server. */
export function allRoutes(extensions = allExtensions()): readonly Route[] {
  const engine = {} as Api["engine"];
  const api: Partial<Api> = { engine, handlers: new Map(), stopping: new AbortController().signal };
  return routesOf(api as Api, extensions);
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
