import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ProblemError } from "../../errors.ts";
import { type FieldError, MAX_INPUT_ERRORS } from "../../wire/problem.ts";

/** The maximum lengths of the pointer and detail of an error. */
const FIELD_ERROR_LIMITS = { pointer: 512, detail: 512 } as const;

/** The error for an input that a schema refuses, with pointers to the first invalid values. */
export function invalidInput(issues: readonly StandardSchemaV1.Issue[]): ProblemError {
  const errors = issues.slice(0, MAX_INPUT_ERRORS).map(
    (issue): FieldError => ({
      pointer: pointerOf((issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part))),
      detail: shortened(issue.message),
    }),
  );
  const first = errors[0];
  const more = issues.length - errors.length;
  return new ProblemError("invalid-input", first && `${first.pointer}: ${first.detail}`, {
    extensions: more > 0 ? { errors, moreErrors: more } : { errors },
  });
}

/**
 * A path as a JSON Pointer in a URI fragment (RFC 6901 §6). If that is too long, the pointer of the nearest enclosing value
 * that fits.
 */
export function pointerOf(path: readonly PropertyKey[]): string {
  let pointer = "#";
  for (const part of path) {
    const name = String(part);
    // Escaping never shortens it.
    if (name.length > FIELD_ERROR_LIMITS.pointer) return pointer;
    const longer = `${pointer}/${escaped(name)}`;
    if (longer.length > FIELD_ERROR_LIMITS.pointer) return pointer;
    pointer = longer;
  }
  return pointer;
}

function escaped(name: string): string {
  return encodeURIComponent(wellFormed(name).replace(/~/g, "~0").replace(/\//g, "~1"));
}

function shortened(message: string): string {
  const { detail } = FIELD_ERROR_LIMITS;
  return message.length <= detail ? message : `${wellFormed(message.slice(0, detail - 1))}…`;
}

/** A lone surrogate cannot be encoded in UTF-8, so not in a URI either. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString("utf8");
}
