import type Koa from "koa";
import type { Context } from "koa";
import type { ServedHosts } from "../config/config.ts";
import type { Metrics } from "../metrics.ts";
import type { Api } from "./api.ts";
import { readForwarded } from "./headers/forwarded.ts";
import type { IdSecret } from "./headers/request-id.ts";
import { accessLog } from "./middleware/access-log.ts";
import { authorize } from "./middleware/authorize.ts";
import { type Check, decide, enforce } from "./middleware/checks.ts";
import { correlate } from "./middleware/correlate.ts";
import { cors } from "./middleware/cors.ts";
import { hosts } from "./middleware/hosts.ts";
import { identify } from "./middleware/identify.ts";
import { problems } from "./middleware/problems.ts";
import { rateLimit } from "./middleware/rate-limit.ts";
import { sameOrigin } from "./middleware/same-origin.ts";
import { traceRequests } from "./middleware/trace.ts";
import { wellFormed } from "./middleware/well-formed.ts";
import { routeOf } from "./route-match.ts";
import { apiRouting, type Routing, type WorkerApi, workerRouting } from "./router.ts";
import { PROBES } from "./routes.ts";
import type { Security } from "./security/security.ts";
import { Application } from "./server/application.ts";
import { responseOf } from "./server/response.ts";

/** How an application is reached. */
export interface AppOptions {
  /** Whether X-Forwarded-* headers are trusted. */
  readonly trustProxy: boolean;
  /** The hosts that requests may name; undefined: all. */
  readonly servedHosts: ServedHosts | undefined;
  readonly security: Security;
  /** The secret for ids derived from Idempotency-Keys. */
  readonly idSecret: IdSecret;
}

/** The application of a server that accepts tasks. */
export function createApp(api: Api, options: AppOptions): Koa {
  return assemble(apiRouting(api), api, options, api.embedOrigins);
}

/** The application of a worker that listens: health and metrics only. */
export function createHealthApp(api: WorkerApi & Pick<Api, "log" | "tracing">, options: AppOptions): Koa {
  return assemble(workerRouting(api), api, options);
}

function assemble(
  { direct, routers }: Routing,
  api: Pick<Api, "log" | "engine" | "tracing">,
  { trustProxy, servedHosts, security, idSecret }: AppOptions,
  embedOrigins: readonly string[] = [],
): Koa {
  const app = new Application({ proxy: trustProxy }, measure(api.engine.metrics));
  readForwarded(app);
  const { corsOrigins } = security;
  const own = servedHosts ? [hosts(servedHosts)] : [];
  app.use(identify(security));
  app.use(decide([wellFormed(), varyByPrefer, ...own, cors(corsOrigins), sameOrigin(corsOrigins), authorize()]));
  app.use(correlate(idSecret));
  if (api.tracing) app.use(traceRequests(api.tracing));
  app.use(accessLog(api.log));
  app.use(problems(api.log, embedOrigins));
  if (security.rateLimit) app.use(rateLimit(security.rateLimit));
  app.use(enforce);
  app.use(direct);
  for (const router of routers) app.use(router.routes());
  // Each router adds its matches to those of the routers before it, so that the last one answers 405 and OPTIONS for all.
  const last = routers.at(-1);
  if (last) app.use(last.allowedMethods());
  // Only errors of sockets reach this, e.g. of a client that disconnected during an answer.
  app.on("error", (error: unknown) => api.log.debug({ err: error }, "http: connection error"));
  return app;
}

/** Counts a request when its answer begins. */
const measure = (metrics: Metrics) => (ctx: Context, ms: number) => {
  const [route, status] = [routeOf(ctx), ctx.res.statusCode];
  metrics.requests.observe(ms, ctx.method, route, String(status));
  if (!PROBES.has(route)) metrics.countAnswer(status);
};

/** The response depends on Prefer, which caches must know (RFC 7240 §2). */
const varyByPrefer: Check = (ctx) => {
  if (ctx.path.startsWith("/v1/")) responseOf(ctx).varyBy("Prefer");
  return false;
};
