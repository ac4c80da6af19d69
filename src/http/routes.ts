import { watchedTasks } from "../engine/watch/watch.ts";
import { Watchers } from "../engine/watch/watchers.ts";
import type { Api } from "./api.ts";
import { batchRoutes } from "./batches/batches.ts";
import type { ApiExtension } from "./extension.ts";
import { leaseRoutes } from "./leases/leases.ts";
import { workerRoutes } from "./leases/workers.ts";
import { LiveTasks, liveRoutes } from "./live/live-tasks.ts";
import { openApiRoutes } from "./openapi/openapi.ts";
import { deploymentEventRoutes } from "./operations/events.ts";
import { incidentRoutes } from "./operations/incidents.ts";
import { accessRoutes, probeRoutes } from "./operations/service.ts";
import { problemRoutes } from "./problems/explanation.ts";
import { bulkRoutes } from "./queues/bulk.ts";
import { callerRoutes } from "./queues/callers.ts";
import { deadRoutes } from "./queues/dead.ts";
import { listRoutes } from "./queues/lists.ts";
import { historyRoutes } from "./queues/queue-history.ts";
import { queueRoutes } from "./queues/queues.ts";
import { searchRoutes } from "./queues/search.ts";
import type { Route } from "./route.ts";
import { againRoutes } from "./submit/again.ts";
import { submitRoutes } from "./submit/routes.ts";
import { cancelRoutes } from "./task/cancel.ts";
import { collectRoutes } from "./task/collect.ts";
import { inputRoutes } from "./task/input.ts";
import { monitorRoutes } from "./task/monitor.ts";
import { moveRoutes } from "./task/move.ts";
import { retryRoutes } from "./task/retry.ts";
import { timelineRoutes } from "./task/timeline.ts";
import { turnRoutes } from "./task/turn.ts";

/** All routes of a server that accepts tasks, with those of its extensions. */
export function routesOf(api: Api, extensions: readonly ApiExtension[]): readonly Route[] {
  const watchers = new Watchers(watchedTasks(api.engine), {
    onError: (error) => api.log.debug({ err: error }, "monitor: could not read the watched tasks; trying again later"),
  });
  const live = new LiveTasks(api, watchers);
  const pages = extensions.find((extension) => extension.pages)?.pages;
  const openGroup = extensions.find((extension) => extension.openGroup)?.openGroup;
  const routes: Route[] = [
    ...submitRoutes(api, live),
    ...collectRoutes(api, pages),
    ...cancelRoutes(api),
    ...turnRoutes(api),
    ...moveRoutes(api),
    ...againRoutes(api, live),
    ...batchRoutes(api, openGroup),
    ...monitorRoutes(api, watchers, pages),
    ...liveRoutes(api, live),
    ...inputRoutes(api),
    ...timelineRoutes(api, extensions),
    ...retryRoutes(api),
    ...queueRoutes(api),
    ...historyRoutes(api),
    ...listRoutes(api),
    ...searchRoutes(api),
    ...callerRoutes(api),
    ...deadRoutes(api),
    ...bulkRoutes(api),
    ...deploymentEventRoutes(api),
    ...incidentRoutes(api),
    ...workerRoutes(api),
    ...leaseRoutes(api),
    ...accessRoutes(api),
    ...probeRoutes(api),
    ...problemRoutes(pages),
    ...extensions.flatMap((extension) => extension.routes?.(api) ?? []),
  ];
  // Its document describes itself too.
  routes.push(...openApiRoutes(api, routes, extensions));
  return routes;
}
