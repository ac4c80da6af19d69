import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../api.ts";
import { type Asset, replyAsset } from "../asset.ts";
import type { Extra } from "../extra.ts";
import { prefersHtml } from "../headers/accept.ts";
import { ROUTES, type Routes, routeOf } from "../routes.ts";
import { assetOf } from "./assets.ts";
import { replyPage } from "./render.ts";
import { replyMissingPage } from "./task/task-page.ts";

const GET = ["GET"] as const;

const routes = {
  dashboard: { methods: GET, path: "/dashboard", scopes: ["read"] },
  dashboardView: { methods: GET, path: "/dashboard/{*view}", scopes: ["read"] },
  docs: { methods: GET, path: "/docs", scopes: "none" },
  docsFile: { methods: GET, path: "/docs/:name", scopes: "none" },
  pageFile: { methods: GET, path: "/pages/{*path}", scopes: "none" },
} as const satisfies Routes;

/** HTML pages and their files, all from this server, so that they work offline. */
export const pages: Extra<typeof routes> = {
  routes,
  endpoints: () => ({
    dashboard: replyDashboard,
    dashboardView: replyDashboard,
    docs: (ctx) => replyPage(ctx, "docs/docs.html", {}, DOCS),
    docsFile: (ctx) => reply(ctx, assetOf("docs", ctx.params.name)),
    pageFile: (ctx) => reply(ctx, assetOf("pages", ctx.params.path)),
  }),
  refuse,
};

/** The dashboard shows results that are images, which it fetches with the key. */
const DASHBOARD = { images: "blob:" } as const;

/** What the style sheet of the API reference needs: its icons are data: images. */
const DOCS = { images: "data:" } as const;

/**
 * Answers with the dashboard, whose script chooses the view by the path. It contains no data of the server, so browsers also
 * get it with a refusal: a person enters an API key there.
 */
function replyDashboard(ctx: Context): void {
  replyPage(ctx, "dashboard/dashboard.html", {}, DASHBOARD);
}

/** Answers with the page of a task that cannot be shown, or with the dashboard to somebody who may not see it. */
function refuse(ctx: Context, error: ProblemError, { embedOrigins }: Api): boolean {
  if (!prefersHtml(ctx.get("Accept"))) return false;
  const route = routeOf(ctx);
  const { status } = error;
  if (route === ROUTES.watch || route === ROUTES.watchQueue || route === ROUTES.group)
    replyMissingPage(ctx, error, embedOrigins);
  else if ((route === routes.dashboard || route === routes.dashboardView) && (status === 401 || status === 403)) {
    ctx.status = status;
    replyDashboard(ctx);
  } else return false;
  return true;
}

function reply(ctx: Context, asset: Asset | undefined): void {
  if (!asset) throw new ProblemError("not-found");
  replyAsset(ctx, asset);
}
