import Router, { type RouterContext } from "@koa/router";
import Koa, { type Middleware } from "koa";
import type { ServedHosts } from "../config/config.ts";
import type { Api } from "./api.ts";
import type { ApiExtension } from "./extension.ts";
import type { IdSecret } from "./headers/request-id.ts";
import { type AnswerRequest, answerRequests } from "./middleware/request.ts";
import { probeRoutes } from "./operations/service.ts";
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

function assemble(routes: readonly Route[], api: Pick<Api, "log" | "engine" | "stopping">, options: AppOptions): Koa {
  const app = newKoa(options);
  const pages = options.extensions.find((extension) => extension.pages)?.pages;
  const answer = answering(api, options, pages && ((ctx, error) => pages.missing(ctx, error, [])));
  app.use(routing(routes, answer));
  // Requests without a route are checked, counted and logged too, then answered with 404, 405 or, for OPTIONS, the methods.
  app.use(answer);
  app.use(new Router().allowedMethods());
  // Only errors of sockets reach this, e.g. of a client that disconnected during an answer.
  app.on("error", (error: unknown) => api.log.debug({ err: error }, "http: connection error"));
  return app;
}

/** An application without routes. */
export function newKoa({ trustProxy }: Pick<AppOptions, "trustProxy">): Koa {
  // Of X-Forwarded-For only the last address: our proxy added it, and everything before it is from the caller.
  return new Koa({ proxy: trustProxy, maxIpsCount: 1 });
}

/** What every request passes. */
export function answering(
  api: Pick<Api, "log" | "engine" | "stopping">,
  { servedHosts, security, idSecret, extensions }: AppOptions,
  showMissing?: Route["showProblem"],
): AnswerRequest {
  const around = extensions.flatMap((extension) => extension.around ?? []);
  return answerRequests(api, { ...security, servedHosts, idSecret, around, showMissing });
}

/**
 * Routes requests. A path without parameters is found by one look-up; for all others the router compares a request with one route after the
 * other, so the routes with the same beginning have a router of their own: an accept takes a tenth less CPU (`npm run bench -- accept`).
 * @param answer what every request passes once its route is known
 */
export function routing(routes: readonly Route[], answer: AnswerRequest = async (_ctx, run) => run()): Middleware {
  const exact = new Map<string, Middleware>();
  const routers = new Map<string, Router>();
  for (const route of routes) {
    const beginning = beginningOf(route.path);
    const router = routers.get(beginning) ?? new Router({ sensitive: true });
    routers.set(beginning, router);
    const run: Middleware = (ctx) => {
      ctx.state.route = route;
      return answer(ctx, () => route.run(ctx));
    };
    const methods = [route.method].flat();
    router.register(route.path, methods, [run], { name: route.name });
    if (/[:{]/.test(route.path)) continue;
    for (const method of methods.includes("GET") ? [...methods, "HEAD"] : methods) {
      // The first route that has a path gets it, as in the router.
      const key = `${method} ${route.path}`;
      if (!exact.has(key)) exact.set(key, run);
    }
  }
  const byBeginning = new Map([...routers].map(([beginning, router]) => [beginning, router.routes()]));
  return (ctx, next) => {
    const found = exact.get(`${ctx.method} ${ctx.path}`) ?? byBeginning.get(beginningOf(ctx.path));
    // The router adds the members of its context itself.
    return found?.(ctx as RouterContext, next) ?? next();
  };
}

/** The part of a path that is the same for all tasks, queues and so on: `/v1/queues`, `/healthz`. */
const beginningOf = (path: string): string => /^(?:\/v1)?\/[^/]*/.exec(path)?.[0] ?? "";
