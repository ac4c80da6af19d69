import type { Api } from "../api.ts";
import type { Endpoints } from "../routes.ts";

/** Metrics for Prometheus. */
export function metricsEndpoints(api: Pick<Api, "engine">): Endpoints<"metrics"> {
  return {
    metrics: async (ctx) => {
      const rows = await api.engine.figures([...api.engine.queues.keys()]);
      ctx.set("Cache-Control", "no-store");
      ctx.body = await api.engine.metrics.exposition(rows.map(({ line, dead }) => ({ ...line, dead })));
      ctx.set("Content-Type", api.engine.metrics.registry.contentType);
    },
  };
}
