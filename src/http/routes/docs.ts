import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type Router from "@koa/router";
import { PaihaoError } from "../../errors.ts";
import { type Asset, replyAsset, replyPage } from "../pages/render.ts";

/** What the page loads of swagger-ui, under `/docs/`. */
const FILES: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

/** Where the build has put them; from the sources they are taken from the package itself. */
const BUILT = new URL("../pages/swagger-ui/", import.meta.url);

/** Only what this server serves; the icons in the style sheet are images of data. No script or style stands in the page. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join("; ");

/** Routes of the API's documentation, to be read and tried without the net. */
export function docsRoutes(router: Router): void {
  const loaded = new Map<string, Asset>();
  router.get("/docs", (ctx) => {
    replyPage(ctx, "docs.html", {});
    ctx.set("Content-Security-Policy", POLICY);
  });
  router.get("/docs/:name", (ctx) => {
    const name = ctx.params.name ?? "";
    const type = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
    if (type === undefined) throw new PaihaoError("not-found");
    const asset = loaded.get(name) ?? load(name, type);
    loaded.set(name, asset);
    replyAsset(ctx, asset);
  });
}

function load(name: string, type: string): Asset {
  const built = new URL(name, BUILT);
  const body = readFileSync(
    existsSync(built) ? built : createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`),
  );
  return { type, body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 16)}"` };
}
