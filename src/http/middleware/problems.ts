import type { Context, Middleware } from "koa";
import { type ErrorCode, ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { retryAfterOf, setRetryAfter } from "../headers/retry-after.ts";
import { replyProblem } from "../task/reply.ts";

/** Codes for responses of Koa and the router that have no body. */
const BARE: Readonly<Record<number, ErrorCode>> = {
  404: "not-found",
  405: "method-not-allowed",
  501: "method-not-allowed",
};

/** Answers a request with something else than a problem document; false if it does not. The headers of the error are set. */
export type Refuse = (ctx: Context, error: ProblemError) => boolean;

/** Turns every error into a problem document, unless `refuse` answers; an unexpected one is logged in full and shown as `internal`. */
export function problems(log: Logger, refuse: Refuse): Middleware {
  // Not an async function: each promise is expensive, since request ids are kept across asynchronous calls.
  return (ctx, next) =>
    next().then(
      () => {
        if (ctx.respond === false) return;
        const code = BARE[ctx.status];
        if (code !== undefined && (ctx.body === undefined || ctx.body === null)) replyProblem(ctx, code);
      },
      (error: unknown) => answer(ctx, error, log, refuse),
    );
}

function answer(ctx: Context, error: unknown, log: Logger, refuse: Refuse): void {
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
  if (refuse(ctx, error)) return;
  const detail = error.message === "" ? undefined : error.message;
  replyProblem(ctx, error.code, detail, error.extensions);
}
