import { type GaugeSources, readGauges } from "../../../engine/monitoring/gauges.ts";
import type { Endpoints } from "../../routes.ts";

/** Metrics for Prometheus. */
export function metricsEndpoints(api: GaugeSources): Endpoints<"metrics"> {
  return {
    metrics: async (ctx) => {
      const { metrics } = api.engine;
      metrics.show(await readGauges(api));
      ctx.set("Cache-Control", "no-store");
      ctx.body = await metrics.exposition();
      ctx.set("Content-Type", metrics.registry.contentType);
    },
  };
}
