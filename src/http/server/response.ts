import type { ServerResponse } from "node:http";
import type { Context } from "koa";

/** Leaves the answer to the calling code, which writes head and body. */
export function handOver(ctx: Context): ServerResponse {
  ctx.respond = false;
  return ctx.res;
}

/** Calls back once a response has been sent or its connection has gone: at once if that has already happened. */
export function whenClosed(res: ServerResponse, then: () => void): void {
  if (res.destroyed) then();
  else res.once("close", then);
}
