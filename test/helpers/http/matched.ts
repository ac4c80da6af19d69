import type { Context, Middleware } from "koa";
import { readConfig } from "../../../src/config/config.ts";
import type { Hooks } from "../../../src/extension.ts";
import { EXTENSIONS } from "../../../src/extras/extras.ts";
import type { Api } from "../../../src/http/api.ts";
import { routing } from "../../../src/http/app.ts";
import type { Route } from "../../../src/http/route.ts";
import { routesOf } from "../../../src/http/routes.ts";
import { createLog } from "../../../src/log.ts";

/** All that a server may have. */
export function allExtensions(): readonly Hooks[] {
  const config = readConfig({}, { REPLICATE: "true" });
  const server = {
    config,
    handlers: new Map(),
    signer: undefined,
    storeUrl: "redis://localhost",
    log: createLog("silent"),
  };
  const engine = () => {
    throw new Error("nothing has started");
  };
  return EXTENSIONS.map((extension) => extension.start({ ...server, engine }));
}

/** The routes of such a server. */
export function allRoutes(extensions = allExtensions()): readonly Route[] {
  // Extras make calls of their verbs.
  const engine = { scripts: { of: () => ({}) } } as unknown as Api["engine"];
  const api: Partial<Api> = { engine, handlers: new Map(), stopping: new AbortController().signal };
  return routesOf(api as Api, extensions);
}

let known: Middleware | undefined;

/** What the router notes of a request on its context. */
export function matched(method: string, path: string): { state: { route?: Route }; params?: Record<string, string> } {
  known ??= routing(allRoutes().map((route) => ({ ...route, run: () => undefined })));
  const context = { method, path, state: {}, request: {} };
  void known(context as unknown as Context, () => Promise.resolve());
  return context;
}
