import { z } from "zod";
import { errorEntries } from "../errors.ts";
import { type Document, text } from "./document.ts";

/** An invalid value of the input, in the form of RFC 9457 §3. */
export const fieldError = z.object({ pointer: text.describe("JSON Pointer as a URI fragment."), detail: text });
export type FieldError = Document<typeof fieldError>;

export const problem = z
  .looseObject({
    type: z.string().meta({ format: "uri-reference", description: "`/problems/{code}`, which explains the code." }),
    title: text.exactOptional(),
    status: z.int().min(400).max(599),
    detail: text.exactOptional(),
  })
  .describe("A problem document (RFC 9457); further members depend on the code.");

/** How many errors of an invalid input are reported: a megabyte of invalid values would give 29 MB of them. */
export const MAX_INPUT_ERRORS = 100;

/** Further members of the problem `invalid-input`. */
export const invalidInput = z.looseObject({
  errors: z.array(fieldError).max(MAX_INPUT_ERRORS),
  moreErrors: z.int().exactOptional(),
});

/** Further members of the problem `invalid-task`. */
export const invalidTask = z.looseObject({ id: text, reason: text });

/** A problem of the server, or of a handler. */
export type AnyProblem = Document<typeof problem>;

/** What a code means. */
export const explanation = z.object({
  type: text,
  code: z.enum(errorEntries.map(({ code }) => code)),
  status: z.int(),
  title: text,
  meaning: text,
  action: text,
  example: problem,
});
