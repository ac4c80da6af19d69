import { Registry } from "prom-client";
import type { Api } from "../../api.ts";
import type { Endpoints } from "../../routes.ts";

/** Liveness, readiness, and metrics for Prometheus: all that a worker serves. */
export function probeEndpoints(
  api: Pick<Api, "readiness" | "exposition">,
): Endpoints<"health" | "readiness" | "metrics"> {
  return {
    health: (ctx) => {
      ctx.set("Cache-Control", "no-store");
      ctx.body = { status: "ok" };
    },
    readiness: async (ctx) => {
      const reasons = await api.readiness();
      ctx.set("Cache-Control", "no-store");
      ctx.status = reasons.length === 0 ? 200 : 503;
      ctx.body = { status: reasons.length === 0 ? "ready" : "not ready", reasons };
    },
    metrics: async (ctx) => {
      ctx.set("Cache-Control", "no-store");
      ctx.body = await api.exposition();
      ctx.set("Content-Type", Registry.PROMETHEUS_CONTENT_TYPE);
    },
  };
}
