import Router from "@koa/router";
import Koa, { type Middleware } from "koa";
import type { ServedHosts } from "../config/config.ts";
import { Watchers } from "../engine/watching/watchers.ts";
import type { Api } from "./api.ts";
import { responseOf } from "./api-response.ts";
import { readForwarded } from "./headers/forwarded.ts";
import type { IdSecret } from "./headers/request-id.ts";
import { accessLog } from "./middleware/access-log.ts";
import { authorize } from "./middleware/authorize.ts";
import { correlate } from "./middleware/correlate.ts";
import { cors } from "./middleware/cors.ts";
import { hosts } from "./middleware/hosts.ts";
import { identify } from "./middleware/identify.ts";
import { problems } from "./middleware/problems.ts";
import { rateLimit } from "./middleware/rate-limit.ts";
import { sameOrigin } from "./middleware/same-origin.ts";
import { wellFormed } from "./middleware/well-formed.ts";
import { allocationRoutes } from "./routes/allocations.ts";
import { batchRoutes } from "./routes/batches.ts";
import { collectRoutes } from "./routes/collect.ts";
import { dashboardRoutes } from "./routes/dashboard.ts";
import { deadRoutes } from "./routes/dead.ts";
import { docsRoutes } from "./routes/docs.ts";
import { eventRoutes } from "./routes/events.ts";
import { gatewayRoutes } from "./routes/gateway.ts";
import { healthRoutes } from "./routes/health.ts";
import { leaseRoutes } from "./routes/leases.ts";
import { lineRoutes } from "./routes/line.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { monitorRoutes } from "./routes/monitor.ts";
import { openApiRoutes } from "./routes/openapi.ts";
import { pageRoutes } from "./routes/pages.ts";
import { problemRoutes } from "./routes/problems.ts";
import { queueRoutes } from "./routes/queues.ts";
import { submitRoutes } from "./routes/submit.ts";
import type { Security } from "./security/security.ts";

/** How an application is reached, and by whom. */
export interface AppOptions {
  /** X-Forwarded-* headers are believed. */
  readonly trustProxy: boolean;
  /** The hosts that requests may name; undefined: any. */
  readonly servedHosts: ServedHosts | undefined;
  readonly security: Security;
  /** What ids of Idempotency-Keys are made with. */
  readonly idSecret: IdSecret;
}

/** The application of a server that takes tasks. */
export function createApp(api: Api, options: AppOptions): Koa {
  return assemble(createRouters(api), api, options);
}

/** Every route of a server that takes tasks. A router tries each of its paths: those that are asked for most have one of their own. */
export function createRouters(api: Api): readonly Router[] {
  // The id of a PUT is read from its path before the router looks at it: both must see the same paths.
  const often = new Router({ sensitive: true });
  submitRoutes(often, api);
  collectRoutes(often, api);
  const router = new Router({ sensitive: true });
  batchRoutes(router, api);
  const watchers = new Watchers(api.engine, {
    onError: (error) => api.log.debug({ err: error }, "watched tasks could not be looked at"),
  });
  monitorRoutes(router, api, watchers);
  eventRoutes(router, api, watchers);
  pageRoutes(router);
  queueRoutes(router, api);
  lineRoutes(router, api);
  deadRoutes(router, api);
  allocationRoutes(router, api);
  problemRoutes(router);
  openApiRoutes(router, api);
  docsRoutes(router);
  healthRoutes(router, api);
  metricsRoutes(router, api);
  leaseRoutes(router, api);
  gatewayRoutes(router, api);
  dashboardRoutes(router);
  return [often, router];
}

/** The application of a worker that listens: health and metrics only. */
export function createHealthApp(api: Pick<Api, "readiness" | "log" | "engine">, options: AppOptions): Koa {
  const router = new Router();
  healthRoutes(router, api);
  metricsRoutes(router, api);
  return assemble([router], api, options);
}

function assemble(
  routers: readonly Router[],
  api: Pick<Api, "log">,
  { trustProxy, servedHosts, security, idSecret }: AppOptions,
): Koa {
  const app = new Koa({ proxy: trustProxy });
  readForwarded(app);
  app.use(identify(security));
  app.use(correlate(idSecret));
  app.use(accessLog(api.log));
  app.use(problems(api.log));
  app.use(wellFormed());
  app.use(varyByPrefer());
  if (servedHosts) app.use(hosts(servedHosts));
  app.use(cors(security.corsOrigins));
  app.use(sameOrigin(security.corsOrigins));
  if (security.rateLimit) app.use(rateLimit(security.rateLimit));
  app.use(authorize(routers));
  for (const router of routers) app.use(router.routes());
  // Each router adds the routes with the request's path to those that the ones before it have found: one of them speaks for all.
  const last = routers.at(-1);
  if (last) app.use(last.allowedMethods());
  // Whatever reaches this is the socket's trouble (a caller gone in mid-answer), not a request's.
  app.on("error", (error: unknown) => api.log.debug({ err: error }, "connection error"));
  return app;
}

/** The same request with another Prefer has another answer: caches must know (RFC 7240 §2). */
function varyByPrefer(): Middleware {
  return (ctx, next) => {
    if (ctx.path.startsWith("/v1/")) responseOf(ctx).varyBy("Prefer");
    return next();
  };
}
