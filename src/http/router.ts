import Router from "@koa/router";
import type { Middleware } from "koa";
import { Watchers } from "../engine/watching/watchers.ts";
import type { Api } from "./api.ts";
import { LiveTasks } from "./live/live-tasks.ts";
import { PATH_OPTIONS } from "./route-match.ts";
import { accessEndpoints } from "./routes/access.ts";
import { allocationEndpoints } from "./routes/allocations.ts";
import { batchEndpoints } from "./routes/batches.ts";
import { bulkEndpoints } from "./routes/bulk.ts";
import { collectEndpoints } from "./routes/collect.ts";
import { deadEndpoints } from "./routes/dead.ts";
import { eventEndpoints } from "./routes/events.ts";
import { gatewayEndpoints } from "./routes/gateway.ts";
import { healthEndpoints } from "./routes/health.ts";
import { historyEndpoints } from "./routes/history.ts";
import { leaseEndpoints } from "./routes/leases.ts";
import { lineEndpoints } from "./routes/line.ts";
import { metricsEndpoints } from "./routes/metrics.ts";
import { monitorEndpoints } from "./routes/monitor.ts";
import { openApiEndpoints } from "./routes/openapi.ts";
import { outputEndpoints } from "./routes/output.ts";
import { pageEndpoints } from "./routes/pages.ts";
import { predictionEndpoints } from "./routes/predictions.ts";
import { problemEndpoints } from "./routes/problems.ts";
import { queueEndpoints } from "./routes/queues.ts";
import { submitEndpoints } from "./routes/submit.ts";
import { timelineEndpoints } from "./routes/timeline.ts";
import { workerEndpoints } from "./routes/workers.ts";
import { type Endpoint, type Endpoints, ROUTES, type Route, type RouteName } from "./routes.ts";

/** The middleware that routes requests to the endpoints of a server that accepts tasks. */
export interface Routing {
  /** Answers requests for the hot routes whose path has no parameters, without looking for them. */
  readonly direct: Middleware;
  /** All routes, the hot ones in the first router, since a router tries each of its paths. */
  readonly routers: readonly Router[];
}

/** The routing of a server that accepts tasks. */
export function apiRouting(api: Api): Routing {
  const watchers = new Watchers(api.engine, {
    onError: (error) =>
      api.log.debug({ err: error }, "monitor: could not look at the watched tasks; trying again later"),
  });
  const live = new LiveTasks(api, watchers);
  const endpoints: Endpoints<RouteName> = {
    ...submitEndpoints(api, live),
    ...collectEndpoints(api),
    ...batchEndpoints(api),
    ...monitorEndpoints(api, watchers),
    ...eventEndpoints(api, live),
    ...outputEndpoints(api, live),
    ...timelineEndpoints(api),
    ...queueEndpoints(api),
    ...historyEndpoints(api),
    ...accessEndpoints,
    ...lineEndpoints(api),
    ...bulkEndpoints(api),
    ...deadEndpoints(api),
    ...allocationEndpoints(api),
    ...predictionEndpoints(api),
    ...workerEndpoints(api),
    ...leaseEndpoints(api),
    ...gatewayEndpoints(api),
    ...healthEndpoints(api),
    ...metricsEndpoints(api),
    ...openApiEndpoints(api),
    ...problemEndpoints,
    ...pageEndpoints(),
  };
  const served = ({ dialect }: Route) => dialect !== true || api.replicate;
  const routers = [
    routerOf(endpoints, ({ hot }) => hot === true),
    routerOf(endpoints, (route) => route.hot !== true && served(route)),
  ];
  return { direct: directTo(endpoints), routers };
}

/** What the routes of a worker that listens need. */
export type WorkerApi = Pick<Api, "readiness" | "memory" | "engine">;

/** The routing of a worker that listens. */
export function workerRouting(api: WorkerApi): Routing {
  const endpoints = { ...healthEndpoints(api), ...metricsEndpoints(api) };
  return { direct: directTo(endpoints), routers: [routerOf(endpoints, () => true)] };
}

function directTo(endpoints: Partial<Endpoints<RouteName>>): Middleware {
  const byRequest = new Map<string, Endpoint>();
  for (const [name, { hot, path, methods }] of Object.entries<Route>(ROUTES)) {
    const endpoint = endpoints[name as RouteName];
    if (!endpoint || !hot || /[:*]/.test(path)) continue;
    for (const method of methods) byRequest.set(`${method} ${path}`, named(path, endpoint));
  }
  return (ctx, next) => {
    const endpoint = byRequest.get(`${ctx.method} ${ctx.path}`);
    return endpoint ? endpoint(ctx) : next();
  };
}

/** An endpoint that notes the route of its requests, for metrics and traces. */
function named(path: string, endpoint: Endpoint): Endpoint {
  return (ctx) => {
    ctx.state.route = path;
    return endpoint(ctx);
  };
}

function routerOf(endpoints: Partial<Endpoints<RouteName>>, among: (route: Route) => boolean): Router {
  const router = new Router(PATH_OPTIONS);
  for (const [name, route] of Object.entries<Route>(ROUTES)) {
    const endpoint = endpoints[name as RouteName];
    if (endpoint && among(route)) router.register(route.path, [...route.methods], named(route.path, endpoint));
  }
  return router;
}
