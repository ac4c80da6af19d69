import Router from "@koa/router";
import Koa, { type Middleware } from "koa";
import type { Api } from "./api.ts";
import { accessLog } from "./middleware/access-log.ts";
import { correlate } from "./middleware/correlate.ts";
import { problems } from "./middleware/problems.ts";
import { batchRoutes } from "./routes/batches.ts";
import { collectRoutes } from "./routes/collect.ts";
import { healthRoutes } from "./routes/health.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { monitorRoutes } from "./routes/monitor.ts";
import { problemRoutes } from "./routes/problems.ts";
import { queueRoutes } from "./routes/queues.ts";
import { submitRoutes } from "./routes/submit.ts";

/** The application of a server that takes tasks. */
export function createApp(api: Api, options: { trustProxy: boolean }): Koa {
  return assemble(createRouter(api), api, options);
}

/** Every route of a server that takes tasks. */
export function createRouter(api: Api): Router {
  // The id of a PUT is read from its path before the router looks at it: both must see the same paths.
  const router = new Router({ sensitive: true });
  submitRoutes(router, api);
  batchRoutes(router, api);
  collectRoutes(router, api);
  monitorRoutes(router, api);
  queueRoutes(router, api);
  problemRoutes(router);
  healthRoutes(router, api);
  metricsRoutes(router, api);
  return router;
}

/** The application of a worker that listens: health and metrics only. */
export function createHealthApp(api: Pick<Api, "readiness" | "log" | "engine">): Koa {
  const router = new Router();
  healthRoutes(router, api);
  metricsRoutes(router, api);
  return assemble(router, api, { trustProxy: false });
}

function assemble(router: Router, api: Pick<Api, "log">, options: { trustProxy: boolean }): Koa {
  const app = new Koa({ proxy: options.trustProxy });
  app.use(correlate());
  app.use(accessLog(api.log));
  app.use(problems(api.log));
  app.use(varyByPrefer());
  app.use(router.routes());
  app.use(router.allowedMethods());
  // Whatever reaches this is the socket's trouble (a caller gone in mid-answer), not a request's.
  app.on("error", (error: unknown) => api.log.debug({ err: error }, "connection error"));
  return app;
}

/** The same request with another Prefer has another answer: caches must know (RFC 7240 §2). */
function varyByPrefer(): Middleware {
  return (ctx, next) => {
    if (ctx.path.startsWith("/v1/")) ctx.vary("Prefer");
    return next();
  };
}
