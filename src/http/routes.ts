import { Watchers } from "../engine/watching/watchers.ts";
import type { Api } from "./api.ts";
import { allocationRoutes } from "./dialects/allocations/allocations.ts";
import { predictionRoutes } from "./dialects/replicate/predictions.ts";
import { gatewayRoutes } from "./gateway/gateway.ts";
import { LiveTasks } from "./live/live-tasks.ts";
import { pageRoutes } from "./pages/pages.ts";
import type { Route } from "./route.ts";
import { groupRoutes } from "./routes/groups/groups.ts";
import { leaseRoutes } from "./routes/leases/leases.ts";
import { workerRoutes } from "./routes/leases/workers.ts";
import { bulkRoutes } from "./routes/queues/bulk.ts";
import { deadRoutes } from "./routes/queues/dead.ts";
import { historyRoutes } from "./routes/queues/history.ts";
import { lineRoutes } from "./routes/queues/line.ts";
import { queueRoutes } from "./routes/queues/queues.ts";
import { accessRoutes } from "./routes/service/access.ts";
import { openApiRoutes } from "./routes/service/openapi.ts";
import { probeRoutes } from "./routes/service/probes.ts";
import { problemRoutes } from "./routes/service/problems.ts";
import { againRoutes } from "./routes/submit/again.ts";
import { batchRoutes } from "./routes/submit/batches.ts";
import { submitRoutes } from "./routes/submit/submit.ts";
import { collectRoutes } from "./routes/tasks/collect.ts";
import { eventRoutes } from "./routes/tasks/events.ts";
import { inputRoutes } from "./routes/tasks/input.ts";
import { monitorRoutes } from "./routes/tasks/monitor.ts";
import { moveRoutes } from "./routes/tasks/move.ts";
import { outputRoutes } from "./routes/tasks/output.ts";
import { timelineRoutes } from "./routes/tasks/timeline.ts";

/** All routes of a server that accepts tasks. */
export function routesOf(api: Api): readonly Route[] {
  const watchers = new Watchers(api.engine, {
    onError: (error) => api.log.debug({ err: error }, "monitor: could not read the watched tasks; trying again later"),
  });
  const live = new LiveTasks(api, watchers);
  const routes: Route[] = [
    ...submitRoutes(api, live),
    ...collectRoutes(api),
    ...moveRoutes(api),
    ...againRoutes(api, live),
    ...batchRoutes(api),
    ...monitorRoutes(api, watchers),
    ...eventRoutes(api, live),
    ...outputRoutes(api, live),
    ...inputRoutes(api),
    ...timelineRoutes(api),
    ...groupRoutes(api),
    ...queueRoutes(api),
    ...historyRoutes(api),
    ...lineRoutes(api),
    ...deadRoutes(api),
    ...bulkRoutes(api),
    ...workerRoutes(api),
    ...leaseRoutes(api),
    ...accessRoutes,
    ...probeRoutes(api),
    ...problemRoutes,
    ...gatewayRoutes(api),
    ...allocationRoutes(api),
    ...predictionRoutes(api),
    ...pageRoutes,
  ];
  // Its document describes itself too.
  routes.push(...openApiRoutes(api, routes));
  return routes;
}
