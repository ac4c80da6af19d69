import { STATUS_CODES } from "node:http";
import type { Context } from "koa";
import { PROBLEM_TYPE } from "../../engine/tasks/result.ts";
import { type ErrorCode, errorEntry, ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { AnyProblem } from "../../wire/problem.ts";
import { linkTo, prefixOf, type Sender } from "../request/forwarded.ts";
import { type ReplyProblem, routeOf } from "../route.ts";

/** A problem document of the catalogue (RFC 9457). */
export type ProblemDocument = AnyProblem & { readonly title: string };

/** Where codes are explained. */
const PROBLEMS = "/problems/";

/** The document of a code of the catalogue. A detail that only repeats the title is left out. */
export function problemDocument(
  code: ErrorCode,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): ProblemDocument {
  const { status, title } = errorEntry(code);
  return {
    type: PROBLEMS + code,
    title,
    status,
    ...(detail === undefined || detail === title ? {} : { detail }),
    ...extensions,
  };
}

/** A problem document as the sender of a request gets it: its type is a link to what explains it. */
export function shownProblem<Members extends { readonly type?: unknown }>(sender: Sender, document: Members): Members {
  const { type } = document;
  if (prefixOf(sender) === "" || typeof type !== "string" || !type.startsWith(PROBLEMS)) return document;
  return { ...document, type: linkTo(sender, type) };
}

/** The document of anything thrown; an unexpected error is logged in full and shown as `internal`. */
export function problemOf(error: unknown, log: Logger): ProblemDocument {
  if (error instanceof ProblemError) return problemDocument(error.code, error.message || undefined, error.extensions);
  log.error({ err: error }, "http: unexpected error; answered as internal");
  return problemDocument("internal");
}

/** Answers with a problem document of the catalogue (RFC 9457). */
export function replyProblem(
  ctx: Context,
  code: ErrorCode,
  detail?: string,
  extensions: Readonly<Record<string, unknown>> = {},
): void {
  const document = shownProblem(ctx, problemDocument(code, detail, extensions));
  replyDocument(ctx, { status: errorEntry(code).status, document });
}

/** Answers with a problem document, unless the route has another form for it. */
export function replyDocument(ctx: Context, problem: ReplyProblem): void {
  const write = routeOf(ctx)?.writeProblem;
  if (write) return write(ctx, problem);
  const { status, document } = problem;
  ctx.status = status;
  ctx.type = PROBLEM_TYPE;
  ctx.body = JSON.stringify(document);
}

/** A problem that is not in the catalogue, since its status says everything (RFC 9457 §4.2.1). */
export function bareProblem(status: number, detail?: string): ProblemDocument {
  const title = STATUS_CODES[status] ?? "";
  return { type: "about:blank", title, status, ...(detail === undefined ? {} : { detail }) };
}
