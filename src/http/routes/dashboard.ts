import type Router from "@koa/router";
import { replyPage } from "../pages/render.ts";

/** The page of whoever runs the server: every queue at a glance, its tasks, its dead letters. */
export function dashboardRoutes(router: Router): void {
  router.get("/dashboard", (ctx) => replyPage(ctx, "dashboard.html", {}));
}
