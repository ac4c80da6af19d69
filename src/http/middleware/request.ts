import type { Context, Middleware } from "koa";
import type { KeyRing } from "../../auth/key-ring.ts";
import type { LinkSigner } from "../../auth/link-signer.ts";
import type { Engine } from "../../engine/engine.ts";
import { type ErrorCode, ProblemError } from "../../errors.ts";
import { type Logger, runInScope } from "../../log.ts";
import { type IdSecret, requestIdOf } from "../headers/request-id.ts";
import { retryAfterOf, setRetryAfter } from "../headers/retry-after.ts";
import { replyProblem } from "../problems/problem.ts";
import { prefersHtml } from "../request/accept.ts";
import { type Access, accessOf, openAccess } from "../request/access.ts";
import { forwardedPrefix } from "../request/forwarded.ts";
import { type Route, routeOf } from "../route.ts";
import { noteCommonFields, setCommonFields } from "../server/response.ts";
import { fromOwnPage, sentAccess } from "./authorize.ts";
import { type Rules, requestCheck } from "./checks.ts";
import { countRequest, type RateLimit } from "./rate-limit.ts";

/** How requests are checked and answered. */
export interface RequestOptions extends Rules {
  readonly keyRing?: KeyRing;
  readonly signer?: LinkSigner;
  readonly rateLimit?: RateLimit | undefined;
  readonly idSecret: IdSecret;
  /** Done around each answer. */
  readonly around: readonly Middleware[];
  /** Answers a browser with a page where there is no route. */
  readonly showMissing?: Route["showProblem"] | undefined;
}

/** What answers to requests depend on, whatever they ask for. */
interface RequestServices {
  readonly log: Logger;
  readonly engine: Pick<Engine, "metrics" | "keys">;
  /** Fires when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** Codes for responses of Koa and the router that have no body. */
const BARE: Readonly<Record<number, ErrorCode>> = {
  404: "not-found",
  405: "method-not-allowed",
  501: "method-not-allowed",
};

/** The statuses of what is not there. */
const NOTHING: ReadonlySet<number> = new Set([404, 405]);

/** What the checks of a request have decided. */
interface Checked {
  /** It is answered already. */
  readonly isAnswered: boolean;
  /** Why it must not reach its route. */
  readonly refusal?: { readonly reason: unknown };
}

/** Answers a request: by `run`, if it may reach its route. */
export type AnswerRequest = (ctx: Context, run: () => unknown) => Promise<unknown>;

/**
 * What every request passes, with a route or without: who sends it, whether it is well-formed and allowed, and its correlation id, which is
 * echoed as X-Request-Id, is part of every log line of the request, and is the id of the task if one is submitted. Then its route answers it,
 * or a problem document. When its answer begins, each request is counted (as an answer only if its caller is still there), and logged at
 * level info: method, path, status, milliseconds and the name of the API key. The query is not logged, since it may contain a signature.
 */
export function answerRequests(
  { log, engine, stopping }: RequestServices,
  { keyRing, signer, rateLimit, idSecret, around, showMissing, ...rules }: RequestOptions,
): AnswerRequest {
  const { metrics, keys } = engine;
  const logged = log.isLevelEnabled("info");
  const everyone = openAccess(signer);
  const showProblem: Route["showProblem"] = (ctx, error) => {
    const route = routeOf(ctx);
    if (route) return route.showProblem?.(ctx, error) ?? false;
    return NOTHING.has(error.status) && (showMissing?.(ctx, error) ?? false);
  };
  const check = requestCheck(rules);

  const answer = async (ctx: Context, { isAnswered, refusal }: Checked, run: () => unknown): Promise<void> => {
    const started = performance.now();
    try {
      // A refused request is counted too.
      if (rateLimit && !isAnswered) await countRequest(ctx, rateLimit);
      if (refusal) throw refusal.reason;
      if (!isAnswered) await run();
      const code = BARE[ctx.status];
      if (code !== undefined && ctx.respond !== false && (ctx.body ?? null) === null) throw new ProblemError(code);
    } catch (error) {
      answerError(ctx, error, { log, showProblem });
    }
    if (ctx.respond !== false) setCommonFields(ctx);
    const ms = performance.now() - started;
    const { method, path, status } = ctx;
    const route = routeOf(ctx);
    metrics.requests.observe(ms, method, route?.path ?? "", String(status));
    if (!route?.polledBy && !ctx.res.destroyed) metrics.countAnswer(status);
    if (!logged) return;
    const { caller, refused } = accessOf(ctx);
    const who = { ...(caller !== null && { caller }), ...(refused !== undefined && { refused }) };
    log.info({ method, path, status, ms: Math.round(ms * 10) / 10, ...who }, "request");
  };

  const checked = (ctx: Context): Checked => {
    try {
      return { isAnswered: check(ctx) };
    } catch (reason) {
      return { isAnswered: false, refusal: { reason } };
    }
  };

  return (ctx, run) => {
    // The sender comes first: the id depends on it.
    const access: Access = keyRing ? sentAccess(ctx, keyRing, signer) : everyone;
    ctx.state.access = fromOwnPage(ctx) ? { ...access, dashboard: true } : access;
    ctx.state.prefix = forwardedPrefix(ctx);
    const decided = checked(ctx);
    // The id of a refused request does not depend on its caller: otherwise it would reveal whether a key is valid.
    const id = requestIdOf(ctx, decided.isAnswered || decided.refusal ? null : access.caller, idSecret, keys);
    ctx.state.requestId = id;
    noteCommonFields(ctx, { requestId: id, varies: ctx.path.startsWith("/v1/"), stopping });
    const all = around.reduceRight<() => Promise<unknown>>(
      (inner, one) => async () => one(ctx, inner),
      () => answer(ctx, decided, run),
    );
    // Not cls-rtracer's own middleware: it also binds every listener of the request's streams, which doubles the cost, and no such
    // listener here needs the id.
    return runInScope({ requestId: id }, all);
  };
}

/** Turns an error into a problem document, or into the page that there is for it; an unexpected one is logged in full and shown as `internal`. */
function answerError(
  ctx: Context,
  error: unknown,
  { log, showProblem }: { readonly log: Logger; readonly showProblem: NonNullable<Route["showProblem"]> },
): void {
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
  if (prefersHtml(ctx.get("Accept")) && showProblem(ctx, error)) return;
  const detail = error.message === "" ? undefined : error.message;
  replyProblem(ctx, error.code, detail, error.extensions);
}
