import type { Context, Middleware } from "koa";
import { type ErrorCode, ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { Api } from "../api.ts";
import { prefersHtml } from "../headers/accept.ts";
import { retryAfterOf, setRetryAfter } from "../headers/retry-after.ts";
import { routeOf } from "../route.ts";
import { accessOf } from "../task/access.ts";
import { replyProblem } from "../task/reply.ts";
import { countRequest, type RateLimit } from "./rate-limit.ts";
import { stoppedBy } from "./request.ts";

/** Codes for responses of Koa and the router that have no body. */
const BARE: Readonly<Record<number, ErrorCode>> = {
  404: "not-found",
  405: "method-not-allowed",
  501: "method-not-allowed",
};

/**
 * Answers every request: by its route, unless a check has refused it, or with a problem document. When its answer begins, each request is
 * counted (as an answer only if its caller is still there), and logged at level info: method, path, status, milliseconds and the name of the
 * API key. The query is not logged, since it may contain a signature.
 */
export function answerRequests(
  { log, engine, stopping }: Pick<Api, "log" | "engine" | "stopping">,
  limit: RateLimit | undefined,
): Middleware {
  const { metrics } = engine;
  const logged = log.isLevelEnabled("info");
  return async (ctx, next) => {
    const started = performance.now();
    // Browsers must not guess the type of an answer; and routes whose answers caches may keep say so.
    ctx.set({ "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" });
    if (stopping.aborted) ctx.set("Connection", "close");
    try {
      if (limit) await countRequest(ctx, limit);
      const stopped = stoppedBy(ctx);
      if (stopped === undefined) await next();
      else if (stopped !== "answered") throw stopped.refusal;
      const code = BARE[ctx.status];
      if (code !== undefined && ctx.respond !== false && (ctx.body ?? null) === null) replyProblem(ctx, code);
    } catch (error) {
      answerError(ctx, error, log);
    }
    // An answer that does not end its connection could delay the stop forever.
    if (stopping.aborted) ctx.set("Connection", "close");
    const ms = performance.now() - started;
    const { method, path, status } = ctx;
    const route = routeOf(ctx);
    metrics.requests.observe(ms, method, route?.path ?? "", String(status));
    if (!route?.polledBy && !ctx.res.destroyed) metrics.countAnswer(status);
    if (!logged) return;
    const { caller } = accessOf(ctx);
    log.info({ method, path, status, ms: Math.round(ms * 10) / 10, ...(caller !== null && { caller }) }, "request");
  };
}

/** Turns an error into a problem document, or into the page that the route has for it; an unexpected one is logged in full and shown as `internal`. */
function answerError(ctx: Context, error: unknown, log: Logger): void {
  if (!(error instanceof ProblemError)) {
    const status = (error as { status?: unknown }).status;
    // From Koa or the router: the request is malformed, e.g. its path cannot be decoded.
    if (typeof status === "number" && status >= 400 && status < 500) {
      return replyProblem(ctx, "invalid-parameter", "The request is malformed.");
    }
    log.error({ err: error, method: ctx.method, path: ctx.path }, "http: unexpected error; answered with 500");
    return replyProblem(ctx, "internal");
  }
  // A caller that has hung up is refused nothing, e.g. if it waited for a result.
  if (error.status >= 500 && !ctx.res.destroyed)
    log.warn({ code: error.code, reason: String(error.cause ?? error.message) }, "http: request refused");
  ctx.set(error.headers);
  const retryAfterS = retryAfterOf(error);
  if (retryAfterS !== undefined) setRetryAfter(ctx, retryAfterS);
  if (prefersHtml(ctx.get("Accept")) && routeOf(ctx)?.showProblem?.(ctx, error)) return;
  const detail = error.message === "" ? undefined : error.message;
  replyProblem(ctx, error.code, detail, error.extensions);
}
