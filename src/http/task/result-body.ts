import { Readable } from "node:stream";
import type { Context } from "koa";
import type { Body } from "../../task.ts";

/** The length of a body, even if only its beginning was read. */
export function bodyLength({ body, rest }: Body): number {
  return body.length + (rest?.bytes ?? 0);
}

/**
 * Answers with a stored body, perhaps with text around it. The rest of a long body is read as the client reads; if that fails,
 * the connection is closed, and the client sees from Content-Length that the body is incomplete.
 */
export function setBody(ctx: Context, stored: Body, before = "", after = ""): void {
  const { body, rest } = stored;
  const start = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (rest === undefined) {
    ctx.body = before === "" ? start : before + start.toString("utf8") + after;
    return;
  }
  const pieces = async function* () {
    yield before === "" ? start : Buffer.concat([Buffer.from(before), start]);
    yield* rest.pieces();
    if (after !== "") yield Buffer.from(after);
  };
  ctx.body = Readable.from(pieces());
  ctx.length = Buffer.byteLength(before) + bodyLength(stored) + Buffer.byteLength(after);
}
