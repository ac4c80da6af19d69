import { createHash } from "node:crypto";
import type { Context } from "koa";
import { replyIfNotModified } from "./headers/not-modified.ts";

/** A file, or a document that does not change while the server runs. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly etag: string;
}

/** An asset with its ETag. */
export function makeAsset(type: string, body: Buffer): Asset {
  return { type, body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 16)}"` };
}

/** Answers with an asset. Clients must revalidate it each time, since a page and its script must have the same version. */
export function replyAsset(ctx: Context, asset: Asset): void {
  ctx.set("Cache-Control", "no-cache");
  ctx.set("ETag", asset.etag);
  ctx.status = 200;
  ctx.type = asset.type;
  ctx.body = asset.body;
  replyIfNotModified(ctx);
}
