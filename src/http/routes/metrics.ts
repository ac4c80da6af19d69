import type Router from "@koa/router";
import type { Api } from "../api.ts";

/** The route of Prometheus. */
export function metricsRoutes(router: Router, api: Pick<Api, "engine">): void {
  router.get("/metrics", async (ctx) => {
    const rows = await api.engine.figures([...api.engine.queues.keys()]);
    ctx.set("Cache-Control", "no-store");
    ctx.body = await api.engine.metrics.exposition(rows.map(({ line, dead }) => ({ ...line, dead })));
    ctx.set("Content-Type", api.engine.metrics.registry.contentType);
  });
}
