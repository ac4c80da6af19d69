import type { Context } from "koa";
import { PaihaoError } from "../../errors.ts";
import { type Asset, makeAsset, replyAsset } from "../asset.ts";
import type { Endpoints } from "../routes.ts";
import { assetOf } from "./assets.ts";
import { replyDashboard } from "./dashboard-page.ts";
import { type Guide, guideOf, llmsText } from "./docs/guides.ts";
import { replyPage } from "./render.ts";

/** What the style sheet of the API reference needs: its icons are data: images. */
const DOCS = { images: "data:" } as const;

type PageRoute = "dashboard" | "dashboardView" | "docs" | "docsFile" | "llms" | "pageFile";

/** HTML pages and their files, all from this server, so that they work offline. */
export function pageEndpoints(): Endpoints<PageRoute> {
  let llms: Asset | undefined;
  return {
    dashboard: replyDashboard,
    dashboardView: replyDashboard,
    docs: (ctx) => replyPage(ctx, "docs/docs.html", {}, DOCS),
    docsFile: async (ctx) => {
      const name: string = ctx.params.name;
      const guide = await guideOf(name);
      if (guide) replyGuide(ctx, name, guide);
      else reply(ctx, assetOf("docs", name));
    },
    llms: async (ctx) => {
      llms ??= makeAsset("text/plain; charset=utf-8", Buffer.from(await llmsText()));
      replyAsset(ctx, llms);
    },
    pageFile: (ctx) => reply(ctx, assetOf("pages", ctx.params.path)),
  };
}

/** A document as a page, with its text put where the template says. */
function replyGuide(ctx: Context, name: string, { title, html }: Guide): void {
  replyPage(ctx, "docs/guide.html", { title, source: `/docs/${name}.md` });
  ctx.body = String(ctx.body).replace("<!-- guide -->", () => html);
}

function reply(ctx: Context, asset: Asset | undefined): void {
  if (!asset) throw new PaihaoError("not-found");
  replyAsset(ctx, asset);
}
