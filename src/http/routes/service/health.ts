import type { Api } from "../../api.ts";
import type { Endpoints } from "../../routes.ts";

/** Liveness and readiness. */
export function healthEndpoints(api: Pick<Api, "readiness">): Endpoints<"health" | "readiness"> {
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
  };
}
