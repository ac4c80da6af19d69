import type { Context } from "koa";
import { replyPage } from "./render.ts";

/** It shows results that are images, which it fetches with the key. */
const POLICY = { images: "blob:" } as const;

/**
 * Answers with the dashboard, whose script decides from the path which view it shows. It contains nothing of the server, so it is also
 * what a browser gets with a refusal: it is where a person enters a key.
 */
export function replyDashboard(ctx: Context): void {
  replyPage(ctx, "dashboard/dashboard.html", {}, POLICY);
}
