import type { Context, Middleware } from "koa";
import { type ErrorCode, PaihaoError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { prefersHtml } from "../headers/accept.ts";
import { retryAfterOf, setRetryAfter } from "../headers/retry-after.ts";
import { replyDashboard } from "../pages/dashboard-page.ts";
import { replyMissingPage } from "../pages/task/task-page.ts";
import { ROUTES, routeOf } from "../routes.ts";
import { replyProblem } from "../task/reply.ts";

/** Codes for responses of Koa and the router that have no body. */
const BARE: Readonly<Record<number, ErrorCode>> = {
  404: "not-found",
  405: "method-not-allowed",
  501: "method-not-allowed",
};

/**
 * Turns every error into a problem document, and into a page where a browser asked for one of a task or for the dashboard; an
 * unexpected one is logged in full and shown as `internal`.
 * @param embedOrigins origins of pages that may show a task in a frame
 */
export function problems(log: Logger, embedOrigins: readonly string[]): Middleware {
  // Not an async function: each promise is expensive, since request ids are kept across asynchronous calls.
  return (ctx, next) =>
    next().then(
      () => {
        if (ctx.respond === false) return;
        const code = BARE[ctx.status];
        if (code !== undefined && (ctx.body === undefined || ctx.body === null)) replyProblem(ctx, code);
      },
      (error: unknown) => answer(ctx, error, { log, embedOrigins }),
    );
}

interface AnswerParts {
  readonly log: Logger;
  readonly embedOrigins: readonly string[];
}

function answer(ctx: Context, error: unknown, { log, embedOrigins }: AnswerParts): void {
  if (!(error instanceof PaihaoError)) {
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
  const page = prefersHtml(ctx.get("Accept")) ? pageOf(ctx) : undefined;
  if (page === "task") return replyMissingPage(ctx, error, embedOrigins);
  ctx.set(error.headers);
  if (page === "dashboard" && (error.status === 401 || error.status === 403)) {
    ctx.status = error.status;
    return replyDashboard(ctx);
  }
  const retryAfterS = retryAfterOf(error);
  if (retryAfterS !== undefined) setRetryAfter(ctx, retryAfterS);
  const detail = error.message === "" ? undefined : error.message;
  replyProblem(ctx, error.code, detail, error.extensions);
}

/** The page that a path leads to, if it is one that stands for refusals as well. */
function pageOf(ctx: Context): "task" | "dashboard" | undefined {
  const route = routeOf(ctx);
  if (route === ROUTES.watch || route === ROUTES.watchQueue) return "task";
  return route === ROUTES.dashboard || route === ROUTES.dashboardView ? "dashboard" : undefined;
}
