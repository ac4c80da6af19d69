import type Router from "@koa/router";
import { errorEntries, PaihaoError } from "../../errors.ts";

/** Routes behind the `type` of problem documents. */
export function problemRoutes(router: Router): void {
  router.get("/problems/:code", (ctx) => {
    const entry = errorEntries.find(({ code }) => code === ctx.params.code);
    if (!entry) throw new PaihaoError("not-found");
    ctx.body = { type: `/problems/${entry.code}`, ...entry };
  });
}
