import type Router from "@koa/router";
import type { Api } from "../api.ts";

/** Routes for whoever runs the server: is it alive, and is it of use. */
export function healthRoutes(router: Router, api: Pick<Api, "readiness">): void {
  router.get("/healthz", (ctx) => {
    ctx.set("Cache-Control", "no-store");
    ctx.body = { status: "ok" };
  });
  router.get("/readyz", async (ctx) => {
    const reasons = await api.readiness();
    ctx.set("Cache-Control", "no-store");
    ctx.status = reasons.length === 0 ? 200 : 503;
    ctx.body = { status: reasons.length === 0 ? "ready" : "not ready", reasons };
  });
}
