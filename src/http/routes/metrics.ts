import { slotsWanted } from "../../engine/estimates/slots-wanted.ts";
import type { Api } from "../api.ts";
import type { Endpoints } from "../routes.ts";

/** Metrics for Prometheus. */
export function metricsEndpoints(api: Pick<Api, "engine">): Endpoints<"metrics"> {
  return {
    metrics: async (ctx) => {
      const rows = await api.engine.figures([...api.engine.queues.keys()]);
      ctx.set("Cache-Control", "no-store");
      const gauges = rows.map(({ snapshot, dead }) => {
        const { targetWaitMs, rests } = api.engine.settings(snapshot.queue);
        return {
          ...snapshot,
          dead,
          resting: rests ? snapshot.resting : null,
          slotsWanted: slotsWanted(snapshot, targetWaitMs),
        };
      });
      ctx.body = await api.engine.metrics.exposition(gauges);
      ctx.set("Content-Type", api.engine.metrics.registry.contentType);
    },
  };
}
