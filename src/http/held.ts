import type { Context } from "koa";
import type { Api } from "./api.ts";

/**
 * Fires when a caller who is held must be let go: they have gone away, or the server is about to stop. What they wait for
 * goes on. Not `AbortSignal.any`: tied to a signal as old as the process, one of those for each request would pile up.
 */
export function untilGone(ctx: Context, api: Pick<Api, "closing">): AbortSignal {
  const gone = new AbortController();
  const end = () => {
    api.closing.removeEventListener("abort", end);
    gone.abort();
  };
  if (api.closing.aborted || ctx.res.destroyed) gone.abort();
  else {
    api.closing.addEventListener("abort", end);
    ctx.res.once("close", end);
  }
  return gone.signal;
}
