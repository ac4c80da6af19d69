import type { Context, Middleware } from "koa";
import { type ErrorCode, PaihaoError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { retryAfterOf, setRetryAfter } from "../headers/retry-after.ts";
import { replyProblem } from "../task/reply.ts";

/** Codes for what Koa and the router answer by themselves. */
const BARE: Readonly<Record<number, ErrorCode>> = {
  404: "not-found",
  405: "method-not-allowed",
  501: "method-not-allowed",
};

/** Turns everything that goes wrong into a problem document; what nobody foresaw is logged whole and shown as `internal`. */
export function problems(log: Logger): Middleware {
  // Not an async function: with the ids of requests kept through asynchronous calls every promise has its price.
  return (ctx, next) =>
    next().then(
      () => {
        if (ctx.respond === false) return;
        const code = BARE[ctx.status];
        if (code !== undefined && (ctx.body === undefined || ctx.body === null)) replyProblem(ctx, code);
      },
      (error: unknown) => answer(ctx, error, log),
    );
}

function answer(ctx: Context, error: unknown, log: Logger): void {
  if (!(error instanceof PaihaoError)) {
    const status = (error as { status?: unknown }).status;
    // Koa and the router say so when a request is malformed, e.g. a path that cannot be decoded.
    if (typeof status === "number" && status >= 400 && status < 500) {
      return replyProblem(ctx, "invalid-parameter", "The request is malformed.");
    }
    log.error({ err: error, method: ctx.method, path: ctx.path }, "unforeseen error");
    return replyProblem(ctx, "internal");
  }
  if (error.status >= 500)
    log.warn({ code: error.code, reason: String(error.cause ?? error.message) }, "request refused");
  ctx.set(error.headers);
  const retryAfterS = retryAfterOf(error);
  if (retryAfterS !== undefined) setRetryAfter(ctx, retryAfterS);
  const detail = error.message === "" ? undefined : error.message;
  replyProblem(ctx, error.code, detail, error.extensions);
}
