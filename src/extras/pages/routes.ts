import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import { type Asset, replyAsset } from "../../http/asset.ts";
import { prefersHtml } from "../../http/headers/accept.ts";
import { READ, type Route } from "../../http/route.ts";
import { assetOf } from "./assets.ts";
import { replyPage } from "./render.ts";

/** HTML pages and their files, all from this server, so that they work offline. */
export const pageRoutes: readonly Route[] = [
  { name: "home", method: "GET", path: "/", scopes: "none", run: replyHome },
  {
    name: "favicon",
    method: "GET",
    path: "/favicon.ico",
    scopes: "none",
    run: (ctx) => reply(ctx, assetOf("pages", "favicon.svg")),
  },
  {
    name: "dashboard",
    method: "GET",
    path: "/dashboard",
    scopes: READ,
    run: replyDashboard,
    showProblem: showRefusal,
  },
  {
    name: "dashboardView",
    method: "GET",
    path: "/dashboard/{*view}",
    scopes: READ,
    run: replyDashboard,
    showProblem: showRefusal,
  },
  {
    name: "docs",
    method: "GET",
    path: "/docs",
    scopes: "none",
    run: (ctx) => replyPage(ctx, "docs/docs.html", {}, DOCS),
  },
  {
    name: "docsFile",
    method: "GET",
    path: "/docs/:name",
    scopes: "none",
    run: (ctx) => reply(ctx, assetOf("docs", ctx.params.name)),
  },
  {
    name: "pageFile",
    method: "GET",
    path: "/pages/{*path}",
    scopes: "none",
    run: (ctx) => reply(ctx, assetOf("pages", ctx.params.path)),
  },
];

/** Answers a browser with the ways into the server; there is nothing here for anybody else. */
function replyHome(ctx: Context): void {
  ctx.vary("Accept");
  if (!prefersHtml(ctx.get("Accept"))) throw new ProblemError("not-found");
  replyPage(ctx, "home/home.html", {});
}

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

/** Answers with the dashboard to somebody who may not see it. */
function showRefusal(ctx: Context, { status }: ProblemError): boolean {
  if (status !== 401 && status !== 403) return false;
  ctx.status = status;
  replyDashboard(ctx);
  return true;
}

function reply(ctx: Context, asset: Asset | undefined): void {
  if (!asset) throw new ProblemError("not-found");
  replyAsset(ctx, asset);
}
