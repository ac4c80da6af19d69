import { Readable } from "node:stream";
import type { Context } from "koa";
import type { Body } from "../../task.ts";

/** The length of a body, of which perhaps only the beginning was read. */
export function bodyLength({ body, rest }: Body): number {
  return body.length + (rest?.bytes ?? 0);
}

/**
 * Answers with a stored body, perhaps with text around it. What was not read of a long one is read as the client takes it; if that
 * fails, the connection is closed, and the client knows by Content-Length that it does not have all.
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
