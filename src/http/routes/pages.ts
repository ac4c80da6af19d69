import type { Context } from "koa";
import { PaihaoError } from "../../errors.ts";
import { type Asset, replyAsset } from "../asset.ts";
import { assetOf } from "../pages/assets.ts";
import { replyPage } from "../pages/render.ts";
import type { Endpoints } from "../routes.ts";

/** What the style sheet of the API reference needs: its icons are data: images. */
const DOCS = { images: "data:" } as const;
/** What the dashboard needs: it shows results that are images, which it fetches with the key. */
const DASHBOARD = { images: "blob:" } as const;

type PageRoute = "dashboard" | "dashboardView" | "dashboardFile" | "docs" | "docsFile" | "pageFile";

/** HTML pages and their files, all from this server, so that they work offline. */
export function pageEndpoints(): Endpoints<PageRoute> {
  // Which view it shows is decided by its script, from the path.
  const dashboard = (ctx: Context) => replyPage(ctx, "dashboard/dashboard.html", {}, DASHBOARD);
  return {
    dashboard,
    dashboardView: dashboard,
    dashboardFile: (ctx) => reply(ctx, assetOf("dashboard", ctx.params.name)),
    docs: (ctx) => replyPage(ctx, "docs.html", {}, DOCS),
    docsFile: (ctx) => reply(ctx, assetOf("docs", ctx.params.name)),
    pageFile: (ctx) => reply(ctx, assetOf("pages", ctx.params.name)),
  };
}

function reply(ctx: Context, asset: Asset | undefined): void {
  if (!asset) throw new PaihaoError("not-found");
  replyAsset(ctx, asset);
}
