import { type ErrorCode, errorEntry, ProblemError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { AnyProblem } from "../../wire/problem.ts";
import { linkTo, prefixOf, type Sender } from "../request/forwarded.ts";

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
