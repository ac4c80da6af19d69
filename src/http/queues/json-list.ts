import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { Context } from "koa";

/** A shorter list is sent at once and uncompressed. */
const MIN_ITEMS = 50;
/** How much text is made at a time, so that a long list does not hold the process. */
const PIECE_CHARS = 65_536;

/**
 * Answers with a JSON object that has a list as a member. A long list is compressed piece by piece for callers that accept that.
 * Only for lists without secrets, such as signed links: beside text that strangers choose, the length of the answer would
 * reveal them (BREACH).
 */
export function replyList(
  ctx: Context,
  others: Readonly<Record<string, unknown>>,
  name: string,
  items: readonly object[],
): void {
  ctx.vary("Accept-Encoding");
  if (items.length < MIN_ITEMS || ctx.method === "HEAD") {
    ctx.body = { ...others, [name]: items };
    return;
  }
  ctx.type = "json";
  if (ctx.acceptsEncodings("gzip", "identity") !== "gzip") {
    ctx.body = Readable.from(pieces(others, name, items));
    return;
  }
  ctx.set("Content-Encoding", "gzip");
  // Koa ends the stream if the caller has gone.
  ctx.body = pipeline(Readable.from(pieces(others, name, items)), createGzip(), () => undefined);
}

function* pieces(others: object, name: string, items: readonly object[]): Generator<string> {
  const before = JSON.stringify(others).slice(0, -1);
  let piece = `${before}${before === "{" ? "" : ","}${JSON.stringify(name)}:[`;
  for (const [n, item] of items.entries()) {
    piece += `${n === 0 ? "" : ","}${JSON.stringify(item)}`;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}]}`;
}
