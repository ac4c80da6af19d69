import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { PaihaoError } from "../../errors.ts";
import { type Asset, makeAsset, replyAsset } from "../asset.ts";
import { assetOf, replyPage } from "../pages/render.ts";
import type { Endpoints } from "../routes.ts";

/** The files of swagger-ui under `/docs/`. */
const FILES: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

/** Where the build puts them; when running from src, they come from the package itself. */
const BUILT = new URL("../pages/swagger-ui/", import.meta.url);

/** Allows only resources of this server, and data: images for the icons of the style sheet. No inline scripts or styles. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join("; ");

/** HTML pages and their files, all from this server, so that they work offline. */
export function pageEndpoints(): Endpoints<"dashboard" | "docs" | "docsFile" | "pageFile"> {
  const loaded = new Map<string, Asset>();
  return {
    dashboard: (ctx) => replyPage(ctx, "dashboard.html", {}),
    docs: (ctx) => {
      replyPage(ctx, "docs.html", {});
      ctx.set("Content-Security-Policy", POLICY);
    },
    docsFile: (ctx) => {
      const name: string = ctx.params.name;
      const type = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
      if (type === undefined) throw new PaihaoError("not-found");
      const asset = loaded.get(name) ?? load(name, type);
      loaded.set(name, asset);
      replyAsset(ctx, asset);
    },
    pageFile: (ctx) => {
      const asset = assetOf(ctx.params.name);
      if (!asset) throw new PaihaoError("not-found");
      replyAsset(ctx, asset);
    },
  };
}

function load(name: string, type: string): Asset {
  const built = new URL(name, BUILT);
  const body = readFileSync(
    existsSync(built) ? built : createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`),
  );
  return makeAsset(type, body);
}
