import type Router from "@koa/router";
import { PaihaoError } from "../../errors.ts";
import { assetOf } from "../pages.ts";

/** Routes of what pages load: style and script, from files of our own only. */
export function pageRoutes(router: Router): void {
  router.get("/pages/:name", (ctx) => {
    const asset = assetOf(ctx.params.name ?? "");
    if (!asset) throw new PaihaoError("not-found");
    // Asked about each time: a page and its script must be of one version.
    ctx.set("Cache-Control", "no-cache");
    ctx.set("X-Content-Type-Options", "nosniff");
    ctx.set("ETag", asset.etag);
    ctx.status = 200;
    ctx.type = asset.type;
    ctx.body = asset.body;
    if (ctx.fresh) {
      ctx.status = 304;
      ctx.body = null;
    }
  });
}
