import Router from "@koa/router";
import type { Middleware } from "koa";
import { Watchers } from "../engine/watching/watchers.ts";
import type { Api } from "./api.ts";
import { EXTRAS } from "./extras.ts";
import { LiveTasks } from "./live/live-tasks.ts";
import { groupEndpoints } from "./routes/groups/groups.ts";
import { leaseEndpoints } from "./routes/leases/leases.ts";
import { workerEndpoints } from "./routes/leases/workers.ts";
import { bulkEndpoints } from "./routes/queues/bulk.ts";
import { deadEndpoints } from "./routes/queues/dead.ts";
import { historyEndpoints } from "./routes/queues/history.ts";
import { lineEndpoints } from "./routes/queues/line.ts";
import { queueEndpoints } from "./routes/queues/queues.ts";
import { accessEndpoints } from "./routes/service/access.ts";
import { openApiEndpoints } from "./routes/service/openapi.ts";
import { probeEndpoints } from "./routes/service/probes.ts";
import { problemEndpoints } from "./routes/service/problems.ts";
import { againEndpoints } from "./routes/submit/again.ts";
import { batchEndpoints } from "./routes/submit/batches.ts";
import { submitEndpoints } from "./routes/submit/submit.ts";
import { collectEndpoints } from "./routes/tasks/collect.ts";
import { eventEndpoints } from "./routes/tasks/events.ts";
import { inputEndpoints } from "./routes/tasks/input.ts";
import { monitorEndpoints } from "./routes/tasks/monitor.ts";
import { moveEndpoints } from "./routes/tasks/move.ts";
import { outputEndpoints } from "./routes/tasks/output.ts";
import { timelineEndpoints } from "./routes/tasks/timeline.ts";
import { type Endpoints, ROUTES, type RouteName, type Routes } from "./routes.ts";

/** The endpoints of a server that accepts tasks. */
export function apiEndpoints(api: Api): Partial<Endpoints<string>> {
  const watchers = new Watchers(api.engine, {
    onError: (error) => api.log.debug({ err: error }, "monitor: could not read the watched tasks; trying again later"),
  });
  const live = new LiveTasks(api, watchers);
  const core: Endpoints<RouteName> = {
    ...submitEndpoints(api, live),
    ...againEndpoints(api, live),
    ...collectEndpoints(api),
    ...batchEndpoints(api),
    ...moveEndpoints(api),
    ...monitorEndpoints(api, watchers),
    ...eventEndpoints(api, live),
    ...outputEndpoints(api, live),
    ...inputEndpoints(api),
    ...timelineEndpoints(api),
    ...groupEndpoints(api),
    ...queueEndpoints(api),
    ...historyEndpoints(api),
    ...accessEndpoints,
    ...lineEndpoints(api),
    ...bulkEndpoints(api),
    ...deadEndpoints(api),
    ...workerEndpoints(api),
    ...leaseEndpoints(api),
    ...probeEndpoints(api),
    ...openApiEndpoints(api),
    ...problemEndpoints,
  };
  return Object.assign(core, ...EXTRAS.map((extra) => extra.endpoints(api)));
}

/** The routes of the core and of all extras, by name. */
export const ALL_ROUTES: Routes = Object.assign({}, ROUTES, ...EXTRAS.map(({ routes }) => routes));

/**
 * Routes requests to endpoints of the same names.
 * @param before the middleware that every request passes first, once its route is known
 */
export function routerOf(endpoints: Partial<Endpoints<string>>, before: readonly Middleware[] = []): Router {
  const router = new Router({ sensitive: true });
  for (const [name, route] of Object.entries(ALL_ROUTES)) {
    const endpoint = endpoints[name];
    if (!endpoint) continue;
    const note: Middleware = (ctx, next) => {
      ctx.state.route = route;
      return next();
    };
    router.register(route.path, [...route.methods, ...(route.otherMethods ?? [])], [note, ...before, endpoint], {
      name,
    });
  }
  return router;
}
