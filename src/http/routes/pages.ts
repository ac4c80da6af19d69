import type Router from "@koa/router";
import { PaihaoError } from "../../errors.ts";
import { assetOf, replyAsset } from "../pages/render.ts";

/** Routes of what pages load: style and script, from files of our own only. */
export function pageRoutes(router: Router): void {
  router.get("/pages/:name", (ctx) => {
    const asset = assetOf(ctx.params.name ?? "");
    if (!asset) throw new PaihaoError("not-found");
    replyAsset(ctx, asset);
  });
}
