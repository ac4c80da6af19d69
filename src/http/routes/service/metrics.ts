import { Registry } from "prom-client";
import type { Endpoints } from "../../routes.ts";

/** Metrics for Prometheus. */
export function metricsEndpoints(api: { exposition(): Promise<string> }): Endpoints<"metrics"> {
  return {
    metrics: async (ctx) => {
      ctx.set("Cache-Control", "no-store");
      ctx.body = await api.exposition();
      ctx.set("Content-Type", Registry.PROMETHEUS_CONTENT_TYPE);
    },
  };
}
