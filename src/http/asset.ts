import { createHash } from "node:crypto";
import type { Context } from "koa";
import { replyIfNotModified } from "./request/etag.ts";

/** How a body may be compressed (RFC 9110 §8.4.1), the better first. */
const CODINGS = ["br", "gzip"] as const;

/** A body, compressed in each way. */
export type Compressed = Readonly<Record<(typeof CODINGS)[number], Buffer>>;

/** A file, or a document that does not change while the server runs. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly etag: string;
  /** Given for a file whose address has a digest of what is in it: what is there never changes. */
  readonly compressed?: Compressed;
}

/** An asset with its ETag. */
export function makeAsset(type: string, body: Buffer, compressed?: Compressed): Asset {
  const etag = createHash("sha256").update(body).digest("base64url").slice(0, 16);
  return { type, body, etag, ...(compressed && { compressed }) };
}

/** Answers with an asset. Clients must revalidate it each time, unless its address changes with it. */
export function replyAsset(ctx: Context, { type, body, etag, compressed }: Asset): void {
  const accepted = ctx.acceptsEncodings();
  const coding = compressed && CODINGS.find((each) => accepted.includes(each));
  ctx.set("Cache-Control", compressed ? "public, max-age=31536000, immutable" : "no-cache");
  if (compressed) ctx.vary("Accept-Encoding");
  if (coding) ctx.set("Content-Encoding", coding);
  // Each form of a body has its own (RFC 9110 §8.8.3.3).
  ctx.set("ETag", coding ? `"${etag}-${coding}"` : `"${etag}"`);
  ctx.status = 200;
  ctx.type = type;
  ctx.body = compressed && coding ? compressed[coding] : body;
  replyIfNotModified(ctx);
}
