import Router from "@koa/router";
import type { Middleware } from "koa";
import { Watchers } from "../engine/watching/watchers.ts";
import type { Api } from "./api.ts";
import { LiveTasks } from "./live/live-tasks.ts";
import { PATH_OPTIONS } from "./route-match.ts";
import { allocationEndpoints } from "./routes/dialects/allocations.ts";
import { predictionEndpoints } from "./routes/dialects/predictions.ts";
import { leaseEndpoints } from "./routes/leases/leases.ts";
import { workerEndpoints } from "./routes/leases/workers.ts";
import { bulkEndpoints } from "./routes/queues/bulk.ts";
import { deadEndpoints } from "./routes/queues/dead.ts";
import { historyEndpoints } from "./routes/queues/history.ts";
import { lineEndpoints } from "./routes/queues/line.ts";
import { queueEndpoints } from "./routes/queues/queues.ts";
import { accessEndpoints } from "./routes/service/access.ts";
import { healthEndpoints } from "./routes/service/health.ts";
import { metricsEndpoints } from "./routes/service/metrics.ts";
import { openApiEndpoints } from "./routes/service/openapi.ts";
import { pageEndpoints } from "./routes/service/pages.ts";
import { problemEndpoints } from "./routes/service/problems.ts";
import { batchEndpoints } from "./routes/submit/batches.ts";
import { gatewayEndpoints } from "./routes/submit/gateway.ts";
import { submitEndpoints } from "./routes/submit/submit.ts";
import { collectEndpoints } from "./routes/tasks/collect.ts";
import { eventEndpoints } from "./routes/tasks/events.ts";
import { inputEndpoints } from "./routes/tasks/input.ts";
import { monitorEndpoints } from "./routes/tasks/monitor.ts";
import { outputEndpoints } from "./routes/tasks/output.ts";
import { timelineEndpoints } from "./routes/tasks/timeline.ts";
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
    ...inputEndpoints(api),
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
export type WorkerApi = Pick<Api, "readiness" | "engine" | "exposition">;

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
