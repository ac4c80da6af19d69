import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type Router from "@koa/router";
import type { Api } from "../api.ts";
import { openApiDocument } from "../openapi/document.ts";

/** As far from here in src as it is in dist. */
const PACKAGE = new URL("../../../package.json", import.meta.url);

/** The route of the API's description. */
export function openApiRoutes(router: Router, api: Pick<Api, "handlers">): void {
  let described: { body: Buffer; etag: string } | undefined;
  router.get("/openapi.json", (ctx) => {
    // Written once: handlers do not change while a server runs.
    described ??= describe(api);
    ctx.set("Cache-Control", "no-cache");
    ctx.set("ETag", described.etag);
    ctx.status = 200;
    ctx.type = "application/json";
    ctx.body = described.body;
    if (ctx.fresh) {
      ctx.status = 304;
      ctx.body = null;
    }
  });
}

function describe(api: Pick<Api, "handlers">): { body: Buffer; etag: string } {
  const { version } = JSON.parse(readFileSync(PACKAGE, "utf8")) as { version: string };
  const body = Buffer.from(JSON.stringify(openApiDocument([...api.handlers.values()], version)));
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 16)}"` };
}
