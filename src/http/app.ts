import Router from "@koa/router";
import Koa, { type Middleware } from "koa";
import type { ServedHosts } from "../config/config.ts";
import type { Api } from "./api.ts";
import type { ApiExtension } from "./extension.ts";
import type { IdSecret } from "./headers/request-id.ts";
import { answerRequests } from "./middleware/answer.ts";
import { checkRequests } from "./middleware/request.ts";
import { probeRoutes } from "./operations/probes.ts";
import type { Route } from "./route.ts";
import { routesOf } from "./routes.ts";
import type { Security } from "./security.ts";

/** How an application is reached. */
export interface AppOptions {
  /** Whether X-Forwarded-* headers are trusted. */
  readonly trustProxy: boolean;
  /** The hosts that requests may name; undefined: all. */
  readonly servedHosts: ServedHosts | undefined;
  readonly security: Security;
  /** The secret for ids derived from Idempotency-Keys. */
  readonly idSecret: IdSecret;
  readonly extensions: readonly ApiExtension[];
}

/** The application of a server that accepts tasks. */
export function createApp(api: Api, options: AppOptions): Koa {
  return assemble(routesOf(api, options.extensions), api, options);
}

/** The application of a worker process with a port: only health and metrics. */
export function createHealthApp(
  api: Pick<Api, "readiness" | "exposition" | "engine" | "log" | "stopping">,
  options: AppOptions,
): Koa {
  return assemble(probeRoutes(api), api, options);
}

function assemble(
  routes: readonly Route[],
  api: Pick<Api, "log" | "engine" | "stopping">,
  { trustProxy, servedHosts, security, idSecret, extensions }: AppOptions,
): Koa {
  // Of X-Forwarded-For only the last address: our proxy added it, and everything before it is from the caller.
  const app = new Koa({ proxy: trustProxy, maxIpsCount: 1 });
  const before = [
    checkRequests({ ...security, servedHosts, idSecret, keys: api.engine.keys }),
    ...extensions.flatMap(({ around }) => around ?? []),
    answerRequests(api, security.rateLimit),
  ];
  const router = routerOf(routes, before);
  app.use(router.routes());
  // Requests without a route are checked, counted and logged too, then answered with 404, 405 or, for OPTIONS, the methods.
  for (const step of before) app.use(step);
  app.use(router.allowedMethods());
  // Only errors of sockets reach this, e.g. of a client that disconnected during an answer.
  app.on("error", (error: unknown) => api.log.debug({ err: error }, "http: connection error"));
  return app;
}

/**
 * Routes requests.
 * @param before the middleware that every request passes first, once its route is known
 */
export function routerOf(routes: readonly Route[], before: readonly Middleware[] = []): Router {
  const router = new Router({ sensitive: true });
  for (const route of routes) {
    const note: Middleware = (ctx, next) => {
      ctx.state.route = route;
      return next();
    };
    const { name, path, run } = route;
    router.register(path, [route.method].flat(), [note, ...before, run], { name });
  }
  return router;
}
