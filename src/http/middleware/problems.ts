import type { Context, Middleware } from "koa";
import { type ErrorCode, ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { prefersHtml } from "../headers/accept.ts";
import { retryAfterOf, setRetryAfter } from "../headers/retry-after.ts";
import { routeOf } from "../route.ts";
import { replyProblem } from "../task/reply.ts";

/** Codes for responses of Koa and the router that have no body. */
const BARE: Readonly<Record<number, ErrorCode>> = {
  404: "not-found",
  405: "method-not-allowed",
  501: "method-not-allowed",
};

/** Turns every error into a problem document, or into the page that the route has for it; an unexpected one is logged in full and shown as `internal`. */
export function problems(log: Logger): Middleware {
  // Not an async function: each promise is expensive, since request ids are kept across asynchronous calls.
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
  if (!(error instanceof ProblemError)) {
    const status = (error as { status?: unknown }).status;
    // From Koa or the router: the request is malformed, e.g. its path cannot be decoded.
    if (typeof status === "number" && status >= 400 && status < 500) {
      return replyProblem(ctx, "invalid-parameter", "The request is malformed.");
    }
    log.error({ err: error, method: ctx.method, path: ctx.path }, "http: unexpected error; answered with 500");
    return replyProblem(ctx, "internal");
  }
  if (error.status >= 500)
    log.warn({ code: error.code, reason: String(error.cause ?? error.message) }, "http: request refused");
  ctx.set(error.headers);
  const retryAfterS = retryAfterOf(error);
  if (retryAfterS !== undefined) setRetryAfter(ctx, retryAfterS);
  if (prefersHtml(ctx.get("Accept")) && routeOf(ctx)?.showProblem?.(ctx, error)) return;
  const detail = error.message === "" ? undefined : error.message;
  replyProblem(ctx, error.code, detail, error.extensions);
}
